"""How do decoded events become typed frames, one per family, with implausible times kept apart?"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from analyze import schema
from analyze.ingest import cells, plausible
from analyze.ingest.arguments import ArgumentReader
from analyze.ingest.names import readable
from analyze.ingest.producer import METADATA
from analyze.ingest.timestamps import durations, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.ingest.event import Event
    from analyze.ingest.producer import Producer
    from analyze.ingest.quality import Places, QualityLog

#: families that are not read from arguments
DERIVED = ("lanes", "quarantine", "raw")
FAMILY_NAMES = (*schema.FAMILIES, METADATA)
FAMILY_CODES = {name: code for code, name in enumerate(FAMILY_NAMES)}
UNTIMED = tuple(FAMILY_CODES[name] for name in (METADATA, "flow_events"))
#: families whose spans cannot be open-ended: an unfinished one is set apart
CLOSED = tuple(FAMILY_CODES[name] for name in ("device_events", "sync_events"))
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
        self.frames: dict[str, list[pl.DataFrame]] = {}
        self.lanes: dict[tuple[str | None, str | None], list[str | None]] = {}
        self.categories: Counter[str] = Counter()
        self.readers = {
            family: ArgumentReader(family, producer.arguments.get(family, {}))
            for family in schema.FAMILIES
            if family not in DERIVED
        }
        self.codes: dict[tuple[str, str | None], int] = {}

    def add(self, events: Sequence[Event], places: Places) -> None:
        """Take one chunk of events; `places` finds the byte offset of each."""
        if not events:
            return
        codes = self._family_codes(events)
        base, names = self._base(events)
        self.quality.add("corrupt-name", names)
        codes, base = self._set_apart(codes, base, places)
        order = np.argsort(codes, kind="stable")
        arguments = np.empty(len(events), object)
        arguments[:] = _column(events, "args")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            self._take(FAMILY_NAMES[codes[rows[0]]], rows, base[rows], events, arguments[rows].tolist(), places)
        self.count += len(events)

    def take_frames(self) -> dict[str, pl.DataFrame]:
        """Frames gathered since the last call, which are then forgotten."""
        gathered = {family: pl.concat(parts) for family, parts in self.frames.items()}
        self.frames = {}
        return gathered

    def lane_frame(self) -> pl.DataFrame:
        """Names of processes and threads seen so far."""
        rows = [
            {"process": process, "thread": thread, "name": name, "labels": labels}
            for (process, thread), (name, labels) in self.lanes.items()
        ]
        return pl.DataFrame(rows, schema={each.name: each.dtype for each in schema.FAMILIES["lanes"]})

    def _family_codes(self, events: Sequence[Event]) -> np.ndarray[Any, np.dtype[np.int64]]:
        keys = list(zip(_column(events, "ph"), _column(events, "cat"), strict=True))
        counts = Counter(keys)
        known: dict[tuple[str, str | None], int] = {}
        for (phase, category), count in counts.items():
            if category:
                self.categories[category] += count
            by_name = phase in self.producer.by_name
            known[phase, category] = -1 if by_name else FAMILY_CODES[self.producer.family(phase, category, "")]
        codes = np.fromiter(map(known.__getitem__, keys), np.int64, len(keys))
        for row in np.flatnonzero(codes < 0).tolist():
            codes[row] = FAMILY_CODES[self.producer.family(keys[row][0], keys[row][1], str(events[row].name))]
        return codes

    def _base(self, events: Sequence[Event]) -> tuple[pl.DataFrame, int]:
        """Columns that every family has, and the phase; and how many names were corrupt."""
        name, corrupt = readable(cells.texts(_column(events, "name"))[0].alias("name"))
        start, bad_starts = nanoseconds(_column(events, "ts"))
        duration, bad_durations = durations(_column(events, "dur"))
        self.quality.add("untyped-cell", bad_starts + bad_durations)
        columns = {
            "id": pl.Series(np.arange(self.count, self.count + len(events), dtype=np.int64)),
            "name": name,
            "category": cells.texts(_column(events, "cat"))[0],
            "process": cells.lanes(_column(events, "pid")),
            "thread": cells.lanes(_column(events, "tid")),
            "start_ns": start,
            "dur_ns": duration,
            "phase": cells.texts(_column(events, "ph"))[0],
        }
        return pl.DataFrame(columns), corrupt

    def _set_apart(
        self, codes: np.ndarray[Any, np.dtype[np.int64]], base: pl.DataFrame, places: Places
    ) -> tuple[np.ndarray[Any, np.dtype[np.int64]], pl.DataFrame]:
        """Give implausible events the code of the quarantine, open-ended ones a null duration."""
        cause = base.select(plausible.cause(self.reference_ns)).to_series()
        if cause.null_count() == len(cause):
            return codes, base
        suspect = cause.is_not_null().to_numpy() & ~np.isin(codes, UNTIMED)
        unfinished = suspect & (cause == plausible.UNFINISHED).fill_null(value=False).to_numpy()
        for row in np.flatnonzero(suspect).tolist():
            self.quality.add(cause[row], 1, places.of(row) if self.quality.is_first(cause[row]) else None)
        base = base.with_columns(
            cause=cause.cast(pl.Categorical),
            dur_ns=pl.when(pl.lit(pl.Series(unfinished))).then(None).otherwise(pl.col("dur_ns")),
        )
        apart = suspect & ~(unfinished & ~np.isin(codes, CLOSED))
        return np.where(apart, FAMILY_CODES["quarantine"], codes), base

    def _take(
        self,
        family: str,
        rows: np.ndarray[Any, np.dtype[np.int64]],
        frame: pl.DataFrame,
        events: Sequence[Event],
        arguments: list[msgspec.Raw],
        places: Places,
    ) -> None:
        if family == METADATA:
            self._name_lanes(frame, arguments)
            return
        if family == "flow_events":
            ids = [events[row].id for row in rows.tolist()]
            frame = frame.with_columns(flow_id=pl.Series([None if each is None else str(each) for each in ids], dtype=pl.String))
        elif family != "quarantine":
            columns, failed_row = self.readers[family].read(arguments, self.quality)
            if failed_row is not None and self.quality.is_first("untyped-cell"):
                self.quality.add("untyped-cell", 0, places.of(int(rows[failed_row])))
            frame = frame.with_columns(**columns)
            complete = self.producer.complete.get(family)
            frame = frame if complete is None else complete(frame)
        self.frames.setdefault(family, []).append(conform(frame, family))

    def _name_lanes(self, frame: pl.DataFrame, arguments: list[msgspec.Raw]) -> None:
        named = frame.select(pl.col("name", "process", "thread").cast(pl.String))
        for kind, process, thread, text in zip(*named.get_columns(), arguments, strict=True):
            if kind not in LANE_NAMES:
                continue
            try:
                given = msgspec.json.decode(bytes(text) or b"{}", type=LaneArguments)
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


def _column(events: Sequence[Event], field: str) -> list[Any]:
    return list(map(attrgetter(field), events))
