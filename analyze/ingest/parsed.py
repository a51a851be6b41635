"""Everything known about one parsed trace file apart from its frames: what the cache keeps beside the Parquet parts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.ingest.header import devices, read_tail, whole
from analyze.ingest.producers import named
from analyze.ingest.quality import QualityLog
from analyze.trace_info import TraceInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analyze.ingest.parse import Plan, Stretch

#: a timestamp beyond this is Unix time already (2001)
UNIX_NS = 10**18
#: host calls that start device work, of every vendor
LAUNCH = re.compile(r"Launch(?:Kernel|Cooperative|Host)?|Memcpy|Memset|appendKernel|EnqueueKernel|urEnqueue", re.IGNORECASE)
#: event counts at which writers are known to stop
EVENT_CAPS = (1_000_000, 2_000_000, 5_000_000, 10_000_000)


@dataclass(kw_only=True)
class Parsed:
    """One parsed file; `parts` lists the Parquet parts by family, each with what is added to its ids."""

    header: dict[str, Any]
    producer: str
    reference_ns: int | None
    literal_backslashes: bool
    base_time_ns: int | None
    time_is_absolute: bool
    events: int
    events_offset: int
    json_bytes: int
    file_bytes: int
    quality: QualityLog
    features: dict[str, bool] = field(default_factory=dict)
    parts: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    @property
    def shift_ns(self) -> int:
        """What is added to every timestamp of the parts."""
        return self.base_time_ns or 0

    def info(self) -> TraceInfo:
        """TraceInfo as the file itself gives it."""
        distributed = self.header.get("distributedInfo")
        distributed = distributed if isinstance(distributed, dict) else {}
        backend = distributed.get("backend")
        return TraceInfo(
            producer=self.producer,
            rank=whole(distributed.get("rank")),
            world_size=whole(distributed.get("world_size")),
            backend=backend if isinstance(backend, str) else None,
            devices=devices(self.header.get("deviceProperties")),
            base_time_ns=self.base_time_ns,
            time_is_absolute=self.time_is_absolute,
            event_count=self.events,
            json_bytes=self.json_bytes,
            file_bytes=self.file_bytes,
            truncated="truncated" in self.quality.counts or "damaged-compression" in self.quality.counts,
            header=self.header,
            **self.features,
        )


def summed_up(
    header: Mapping[str, Any],
    header_quality: QualityLog,
    plan: Plan,
    stretches: Sequence[Stretch],
    events_offset: int,
    file_bytes: int,
) -> Parsed:
    """Sum up one file from its stretches; the event list's tail may add header keys."""
    quality = QualityLog()
    quality.merge(header_quality)
    categories: dict[str, int] = {}
    known = dict(header)
    for stretch in stretches:
        quality.merge(stretch.quality)
        for category, count in stretch.categories.items():
            categories[category] = categories.get(category, 0) + count
        if stretch.tail is not None:
            known |= read_tail(stretch.tail, quality, stretch.tail_offset or 0)
    events = sum(stretch.events for stretch in stretches)
    base, absolute = _base_time(known, plan.reference_ns, quality)
    if events in EVENT_CAPS:
        quality.add("event-cap", events)
    return Parsed(
        header={"categories": categories, **known},
        producer=plan.producer,
        reference_ns=plan.reference_ns,
        literal_backslashes=plan.literal_backslashes,
        base_time_ns=base,
        time_is_absolute=absolute,
        events=events,
        events_offset=events_offset,
        json_bytes=stretches[-1].end_offset,
        file_bytes=file_bytes,
        quality=quality,
    )


def _base_time(header: Mapping[str, Any], reference_ns: int | None, quality: QualityLog) -> tuple[int | None, bool]:
    """Base of the timestamps, and whether they are Unix time with it."""
    base = whole(header.get("baseTimeNanoseconds"))
    if base is None:
        return None, reference_ns is not None and reference_ns > UNIX_NS
    if reference_ns is not None and reference_ns > UNIX_NS:
        quality.add("base-time-ignored")
        return None, True
    return base, True


def finished(parsed: Parsed, frames: Mapping[str, pl.LazyFrame]) -> dict[str, pl.DataFrame]:
    """Families that change once all lanes are known."""
    finish = named(parsed.producer).finish
    changed = {} if finish is None else finish(frames, parsed.quality)
    return {family: frame.collect() for family, frame in changed.items()}


def assess(parsed: Parsed, frames: Mapping[str, pl.LazyFrame]) -> None:
    """Complete what only the frames tell: producer with device kind, features, what is missing or ambiguous."""
    categories: dict[str, int] = parsed.header.pop("categories", {})
    calls = frames["runtime_events"].select(pl.col("name").unique().cast(pl.String)).collect()["name"].to_list()
    parsed.producer = named(parsed.producer).describe(parsed.header, categories, calls)
    parsed.features = _features(frames)
    counts = _counts(frames)
    if not counts["timed"]:
        parsed.quality.add("no-timed-events")
    launches = counts["launches"]
    if launches and not counts["device"]:
        parsed.quality.add("device-activity-missing", launches)
    parsed.quality.add("missing-correlation", counts["unlinked"])
    parsed.quality.add("duplicate-correlation", counts["duplicates"])


def _features(frames: Mapping[str, pl.LazyFrame]) -> dict[str, bool]:
    queries = [
        frames["op_events"].select(pl.col("input_dims").is_not_null().any()),
        frames["python_events"].select(pl.len() > 0),
        frames["memory_events"].select(pl.len() > 0),
        frames["sync_events"].select(pl.len() > 0),
    ]
    names = ("has_shapes", "has_stacks", "has_memory", "has_sync_records")
    return {name: bool(found.item()) for name, found in zip(names, pl.collect_all(queries), strict=True)}


def _counts(frames: Mapping[str, pl.LazyFrame]) -> dict[str, int]:
    timed = [name for name in frames if name not in ("flow_events", "lanes", "quarantine", "raw")]
    launch = pl.col("name").cast(pl.String).str.contains(LAUNCH.pattern.replace("(?:", "(?i:", 1))
    correlation = pl.col("correlation")
    queries = [
        *(frames[name].select(pl.len()) for name in timed),
        frames["device_events"].select(correlation.is_null().sum()),
        frames["runtime_events"].group_by("name").len().filter(launch).select(pl.col("len").sum()),
        frames["runtime_events"].select(
            pl.struct("process", "correlation").filter(correlation.is_not_null()).len()
            - pl.struct("process", "correlation").filter(correlation.is_not_null()).n_unique()
        ),
    ]
    *sizes, unlinked, launches, duplicates = (int(found.item() or 0) for found in pl.collect_all(queries))
    return {
        "timed": sum(sizes),
        "device": dict(zip(timed, sizes, strict=True))["device_events"],
        "unlinked": unlinked,
        "launches": launches,
        "duplicates": duplicates,
    }
