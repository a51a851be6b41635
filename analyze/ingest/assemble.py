"""How do decoded events become typed frames, one per family, with implausible times kept apart?"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import polars as pl

from analyze import schema
from analyze.ingest import cells
from analyze.ingest.arguments import ArgumentReader
from analyze.ingest.producer import METADATA
from analyze.ingest.timestamps import durations, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.ingest.event import Event
    from analyze.ingest.producer import Producer
    from analyze.ingest.quality import QualityLog

DAY_NS = 86_400 * 10**9
#: what Kineto writes for a span that had not ended
UNFINISHED_NS = -1000
UNNAMED = "<unnamed>"
CORRUPT = "<corrupt name>"
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"

FAMILY_CODES = {name: code for code, name in enumerate((*schema.FAMILIES, METADATA))}
UNTIMED = (FAMILY_CODES[METADATA], FAMILY_CODES["flow_events"])
#: families whose spans cannot be open-ended: an unfinished one is set apart
CLOSED = tuple(FAMILY_CODES[name] for name in ("device_events", "sync_events"))


class LaneArguments(msgspec.Struct, gc=False):
    """Arguments of a metadata event that names a lane."""

    name: int | float | str | bool | None = None
    labels: int | float | str | bool | None = None


class Assembler:
    """Turns chunks of events into frames per family; ids count on from `first_id`."""

    def __init__(self, producer: Producer, quality: QualityLog, reference_ns: int | None, first_id: int = 0) -> None:
        self.producer = producer
        self.quality = quality
        self.reference_ns = reference_ns
        self.next_id = first_id
        self.frames: dict[str, list[pl.DataFrame]] = {}
        self.lanes: dict[tuple[str | None, str | None], list[str | None]] = {}
        self.categories: Counter[str] = Counter()
        self.readers = {
            family: ArgumentReader(family, producer.arguments.get(family, {}))
            for family in schema.FAMILIES
            if family not in ("lanes", "quarantine", "raw")
        }
        self.codes: dict[tuple[str, ...], int] = {}

    def add(self, events: Sequence[Event], offset: int) -> None:
        """Take one chunk of events whose text began at byte `offset`."""
        if not events:
            return
        phases, categories = _column(events, "ph"), _column(events, "cat")
        codes = self._family_codes(events, phases, categories)
        self.categories.update(category for category in categories if category)
        base = self._base(events, phases, categories)
        codes, base = self._set_apart(codes, base, offset)
        arguments = np.fromiter(map(attrgetter("args"), events), object, len(events))
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            family = next(name for name, code in FAMILY_CODES.items() if code == codes[rows[0]])
            self._take(family, rows, base, events, arguments[rows].tolist(), offset)
        self.next_id += len(events)

    def _family_codes(self, events: Sequence[Event], phases: list[str], categories: list[str | None]) -> np.ndarray:
        known, by_name = self.codes, self.producer.by_name
        keys = list(zip(phases, categories, strict=True))
        for key in set(keys):
            if key not in known and key[0] not in by_name:
                known[key] = FAMILY_CODES[self.producer.family(key[0], key[1], "")]  # type: ignore[index]
        codes = np.fromiter((known.get(key, -1) for key in keys), np.int16, len(keys))  # type: ignore[call-overload]
        for row in np.flatnonzero(codes < 0).tolist():
            codes[row] = FAMILY_CODES[self.producer.family(phases[row], categories[row], str(events[row].name))]
        return codes

    def _base(self, events: Sequence[Event], phases: list[str], categories: list[str | None]) -> pl.DataFrame:
        """Columns that every family has, and the phase."""
        name = cells.texts(_column(events, "name"))[0].alias("name")
        return pl.DataFrame(
            {
                "id": pl.Series(np.arange(self.next_id, self.next_id + len(events), dtype=np.int64)),
                "name": self._readable(name),
                "category": pl.Series(categories, dtype=pl.String).cast(pl.Categorical),
                "process": cells.lanes(_column(events, "pid")),
                "thread": cells.lanes(_column(events, "tid")),
                "start_ns": nanoseconds(_column(events, "ts")),
                "dur_ns": durations(_column(events, "dur")),
                "phase": pl.Series(phases, dtype=pl.String).cast(pl.Categorical),
            }
        )

    def _readable(self, name: pl.Series) -> pl.Series:
        text = pl.col("name").cast(pl.String)
        distinct = (
            name.unique()
            .to_frame()
            .with_columns(
                shown=pl.when(text.is_null() | (text == ""))
                .then(pl.lit(UNNAMED))
                .when(text.str.contains(CONTROL))
                .then(pl.lit(CORRUPT))
            )
            .drop_nulls("shown")
        )
        if distinct.is_empty():
            return name
        renamed = name.to_frame().join(distinct, on="name", how="left", nulls_equal=True, maintain_order="left")
        self.quality.add("corrupt-name", renamed.select((pl.col("shown") == CORRUPT).sum()).item())
        return renamed.select(pl.coalesce("shown", text).cast(pl.Categorical).alias("name")).to_series()

    def _set_apart(self, codes: np.ndarray, base: pl.DataFrame, offset: int) -> tuple[np.ndarray, pl.DataFrame]:
        """Give implausible events the code of the quarantine, open-ended ones a null duration."""
        start, duration = pl.col("start_ns"), pl.col("dur_ns")
        reference = self.reference_ns
        span = pl.col("phase").cast(pl.String) == "X"
        far = pl.lit(False) if reference is None else (start - reference).abs() > DAY_NS
        zero = pl.lit(False) if reference is None or reference <= DAY_NS else start <= 0
        cause = (
            pl.when(start.is_null())
            .then(pl.lit("missing-timestamp"))
            .when(zero)
            .then(pl.lit("zero-timestamp"))
            .when(far)
            .then(pl.lit("implausible-timestamp"))
            .when((duration == UNFINISHED_NS) & span)
            .then(pl.lit("unfinished"))
            .when(duration < 0)
            .then(pl.lit("negative-duration"))
            .when(duration > DAY_NS)
            .then(pl.lit("implausible-duration"))
        )
        base = base.with_columns(cause=cause)
        if base["cause"].null_count() == len(base):
            return codes, base
        suspect = base["cause"].is_not_null().to_numpy() & ~np.isin(codes, UNTIMED)
        unfinished = suspect & (base["cause"] == "unfinished").fill_null(value=False).to_numpy()
        for found, count in base.filter(pl.Series(suspect)).group_by("cause").len().iter_rows():
            self.quality.add(found, count, offset)
        base = base.with_columns(dur_ns=pl.when(pl.Series(unfinished)).then(None).otherwise(duration))
        apart = suspect & ~(unfinished & ~np.isin(codes, CLOSED))
        return np.where(apart, FAMILY_CODES["quarantine"], codes).astype(np.int16), base

    def _take(
        self,
        family: str,
        rows: np.ndarray,
        base: pl.DataFrame,
        events: Sequence[Event],
        arguments: list[msgspec.Raw],
        offset: int,
    ) -> None:
        frame = base[rows]
        if family == METADATA:
            self._name_lanes(frame, arguments)
            return
        if family == "quarantine":
            columns: dict[str, pl.Series] = {"cause": frame["cause"].cast(pl.Categorical)}
        elif family == "flow_events":
            ids = [events[row].id for row in rows.tolist()]
            columns = {"flow_id": pl.Series([None if each is None else str(each) for each in ids], dtype=pl.String)}
        else:
            columns = self.readers[family].read(arguments, self.quality, offset)
        frame = frame.with_columns(**columns)
        complete = self.producer.complete.get(family)
        frame = frame if complete is None else complete(frame)
        self.frames.setdefault(family, []).append(conform(frame, family))

    def _name_lanes(self, frame: pl.DataFrame, arguments: list[msgspec.Raw]) -> None:
        named = frame.select(pl.col("name", "process", "thread").cast(pl.String))
        for (kind, process, thread), text in zip(named.iter_rows(), arguments, strict=True):
            if kind not in ("process_name", "thread_name", "process_labels"):
                continue
            try:
                given = msgspec.json.decode(bytes(text) or b"{}", type=LaneArguments)
            except msgspec.DecodeError:
                continue
            key = (process, thread if kind == "thread_name" else None)
            lane = self.lanes.setdefault(key, [None, None])
            position, value = (1, given.labels) if kind == "process_labels" else (0, given.name)
            lane[position] = None if value is None else str(value)

    def lane_frame(self) -> pl.DataFrame:
        """Names of processes and threads seen so far."""
        rows = [
            {"process": process, "thread": thread, "name": name, "labels": labels}
            for (process, thread), (name, labels) in self.lanes.items()
        ]
        return pl.DataFrame(rows, schema={each.name: each.dtype for each in schema.FAMILIES["lanes"]})


def conform(frame: pl.DataFrame, family: str) -> pl.DataFrame:
    """Exactly the family's columns and dtypes; what the producer has not is null."""
    return frame.select(
        pl.col(each.name).cast(each.dtype)
        if each.name in frame.columns
        else pl.lit(None, dtype=each.dtype).alias(each.name)
        for each in schema.FAMILIES[family]
    )


def reference_time(events: Sequence[Event]) -> int | None:
    """Median start of the spans in the first chunk, against which others are judged; null without spans."""
    starts = nanoseconds([event.ts for event in events if event.ph in ("X", "B") and bytes(event.ts)])
    positive = starts.filter(starts > 0).sort()
    return positive[len(positive) // 2] if len(positive) else None


def _column(events: Sequence[Event], field: str) -> list:  # type: ignore[type-arg]
    return list(map(attrgetter(field), events))
