"""How do decoded events become typed frames, one per family, with implausible times kept apart?"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from analyze import schema
from analyze.ingest import cells, plausible
from analyze.ingest.arguments import ArgumentReader
from analyze.ingest.producer import METADATA

if TYPE_CHECKING:
    from analyze.ingest.compiled.events import ScannedEvents
    from analyze.ingest.decoded import DecodedEvents
    from analyze.ingest.producer import Producer
    from analyze.ingest.quality import Places, QualityLog

    Events = DecodedEvents | ScannedEvents

#: families that are not read from arguments
DERIVED = ("lanes", "quarantine", "raw")
FAMILY_NAMES = (*schema.FAMILIES, METADATA)
FAMILY_CODES = {name: code for code, name in enumerate(FAMILY_NAMES)}
UNTIMED = tuple(FAMILY_CODES[name] for name in (METADATA, "flow_events"))
#: families whose spans cannot be open-ended: an unfinished one is set apart
CLOSED = tuple(FAMILY_CODES[name] for name in ("device_events", "sync_events"))
NULL_CODE = 2**32 - 1
LANE_NAMES = {"process_name": 0, "thread_name": 0, "process_labels": 1}


class LaneArguments(msgspec.Struct, gc=False):
    """Arguments of a metadata event that names a lane."""

    name: int | float | str | bool | None = None
    labels: int | float | str | bool | None = None


class Assembler:
    """Turns chunks of events into frames per family; ids count on from 0."""

    def __init__(self, producer: Producer, quality: QualityLog, reference_ns: int | None) -> None:
        self.producer = producer
        self.quality = quality
        self.reference_ns = reference_ns
        self.count = 0
        self.parts: dict[str, list[pl.DataFrame]] = {}
        self.lanes: dict[tuple[str | None, str | None], list[str | None]] = {}
        self.categories: Counter[str] = Counter()
        self.readers = {
            family: ArgumentReader(family, producer.arguments.get(family, {}))
            for family in schema.FAMILIES
            if family not in DERIVED
        }

    def add(self, events: Events, places: Places) -> None:
        """Take one chunk of events; `places` finds the byte offset of each."""
        if not len(events):
            return
        base = self._base(events)
        codes = self._family_codes(base)
        codes, base, cause = self._set_apart(codes, base, places)
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            family, frame = FAMILY_NAMES[codes[rows[0]]], base[rows]
            if family == METADATA:
                self._name_lanes(frame, events.argument_texts(rows))
                continue
            if family == "quarantine":
                frame = frame.with_columns(cause=cause[rows])
            elif family == "flow_events":
                frame = frame.with_columns(flow_id=events.flow_ids(rows))
            else:
                frame = frame.with_columns(**self._arguments(family, rows, events, places))
            self.parts.setdefault(family, []).append(frame)
        self.count += len(events)

    def take_frames(self) -> dict[str, pl.DataFrame]:
        """Completed frames of what was gathered since the last call, which is then forgotten."""
        gathered = {family: self._completed(family, pl.concat(parts)) for family, parts in self.parts.items()}
        self.parts = {}
        return gathered

    def _completed(self, family: str, frame: pl.DataFrame) -> pl.DataFrame:
        complete = self.producer.complete.get(family)
        return conform(frame if complete is None else complete(frame), family)

    def lane_frame(self) -> pl.DataFrame:
        """Names of processes and threads seen so far."""
        rows = [
            {"process": process, "thread": thread, "name": name, "labels": labels}
            for (process, thread), (name, labels) in self.lanes.items()
        ]
        return pl.DataFrame(rows, schema={each.name: each.dtype for each in schema.FAMILIES["lanes"]})

    def _family_codes(self, base: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Family of each event, looked up once per phase and category, and per name where the producer asks for it."""
        phase, category = (base[name].to_physical().fill_null(NULL_CODE).to_numpy() for name in ("phase", "category"))
        keys = phase.astype(np.uint64) << np.uint64(32) | category.astype(np.uint64)
        _, first, group, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        codes = np.empty(len(first), np.int64)
        for index, row in enumerate(first.tolist()):
            kind, named = base["phase"][row], base["category"][row]
            if named:
                self.categories[named] += int(counts[index])
            codes[index] = -1 if kind in self.producer.by_name else FAMILY_CODES[self.producer.family(kind, named, "")]
        found = codes[group]
        if (codes < 0).any():
            self._codes_by_name(base, found)
        return found

    def _codes_by_name(self, base: pl.DataFrame, found: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Fill in the families that depend on the name."""
        open_rows = np.flatnonzero(found < 0)
        keys = base[open_rows].select(pl.col("phase", "category", "name").cast(pl.String))
        distinct = keys.unique()
        families = [FAMILY_CODES[self.producer.family(*key)] for key in distinct.rows()]
        coded = distinct.with_columns(code=pl.Series(families, dtype=pl.Int64))
        found[open_rows] = keys.join(coded, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")["code"]

    def _base(self, events: Events) -> pl.DataFrame:
        """Columns that every family has, and the phase."""
        ids = pl.Series(np.arange(self.count, self.count + len(events), dtype=np.int64))
        return pl.DataFrame({"id": ids, **events.base(self.quality)})

    def _set_apart(
        self, codes: np.ndarray[Any, np.dtype[np.int64]], base: pl.DataFrame, places: Places
    ) -> tuple[np.ndarray[Any, np.dtype[np.int64]], pl.DataFrame, pl.Series]:
        """Give implausible events the code of the quarantine, open-ended ones a null duration; and the causes."""
        cause = base.select(plausible.cause(self.reference_ns)).to_series()
        if cause.null_count() == len(cause):
            return codes, base, cause
        suspect = cause.is_not_null().to_numpy() & ~np.isin(codes, UNTIMED)
        unfinished = suspect & (cause == plausible.UNFINISHED).fill_null(value=False).to_numpy()
        for row in np.flatnonzero(suspect).tolist():
            self.quality.add(cause[row], 1, places.of(row) if self.quality.is_first(cause[row]) else None)
        base = base.with_columns(
            dur_ns=pl.when(pl.lit(pl.Series(unfinished))).then(None).otherwise(pl.col("dur_ns")),
        )
        apart = suspect & ~(unfinished & ~np.isin(codes, CLOSED))
        return np.where(apart, FAMILY_CODES["quarantine"], codes), base, cause

    def _arguments(
        self, family: str, rows: np.ndarray[Any, np.dtype[np.int64]], events: Events, places: Places
    ) -> dict[str, pl.Series]:
        columns, failed_row = events.arguments(self.readers[family], rows, self.quality)
        if failed_row is not None and self.quality.is_first("untyped-cell"):
            self.quality.add("untyped-cell", 0, places.of(int(rows[failed_row])))
        return columns

    def _name_lanes(self, frame: pl.DataFrame, arguments: list[msgspec.Raw]) -> None:
        """Note the names in metadata events; some writers repeat them hundreds of thousands of times."""
        named = frame.select(
            pl.col("name", "process", "thread").cast(pl.String),
            arguments=cells.json_texts(arguments)[0].cast(pl.String),
        ).filter(pl.col("name").is_in(list(LANE_NAMES)))
        for kind, process, thread, text in named.unique(keep="last", maintain_order=True).rows():
            try:
                given = msgspec.json.decode(text or "{}", type=LaneArguments)
            except msgspec.DecodeError:
                self.quality.add("untyped-cell")
                continue
            value = given.labels if kind == "process_labels" else given.name
            lane = self.lanes.setdefault((process, thread if kind == "thread_name" else None), [None, None])
            lane[LANE_NAMES[kind]] = None if value is None else str(value)


def conform(frame: pl.DataFrame, family: str) -> pl.DataFrame:
    """Exactly the family's columns and dtypes; what the producer has not is null."""
    return frame.select(
        pl.col(each.name).cast(each.dtype) if each.name in frame.columns else pl.lit(None, dtype=each.dtype).alias(each.name)
        for each in schema.FAMILIES[family]
    )
