"""The analysed window as a small Chrome-format trace: steps, device work, idle time by cause, what findings saw."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import StepscopeError
from analyze.report.document import json_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from analyze.findings.model import Finding, Report

    Event = dict[str, Any]

#: device work beyond this many items is thinned to the longest: the file stays a few MB and opens at once
DEVICE_ITEMS = 50_000
STEPS_PROCESS, FINDINGS_PROCESS, FIRST_DEVICE_PROCESS = 1, 2, 10
#: thread of a device's idle time; its streams follow
IDLE_THREAD = 0
ARGUMENTS = ("step", "kind", "bytes", "direction", "host_memory", "op", "rank")


def render(report: Report) -> str:
    """Return the trace as JSON text; times count from the window's start, whose absolute time is in otherData."""
    window = report.summary.window_ns
    work, left_out = _longest(_device_work(report, window))
    steps, gaps = _table(report, "steps", window), _table(report, "gpu_gaps", window)
    origin = window[0] if window else _earliest(steps, work)
    events = [
        *_named(STEPS_PROCESS, "Steps", {0: "steps"}),
        *_slices(steps.with_columns(name=pl.format("step {}", "step")), origin, STEPS_PROCESS, 0),
        *_devices(work, gaps, origin),
        *_findings((*report.findings, *report.notes), origin),
    ]
    other = {"source": report.source, "origin_ns": str(origin), "device_items_left_out": left_out}
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}, allow_nan=False)


def _table(report: Report, name: str, window: tuple[int, int] | None) -> pl.DataFrame:
    """Return the table's rows that lie in the window, none where the run lacks the table."""
    try:
        frame = report.table(name).drop_nulls(["start_ns", "dur_ns"])
    except StepscopeError:
        return pl.DataFrame(schema={"start_ns": pl.Int64, "dur_ns": pl.Int64, "step": pl.Int64, "device": pl.Int64})
    if window is None:
        return frame
    return frame.filter(pl.col("start_ns") < window[1], pl.col("start_ns") + pl.col("dur_ns") > window[0])


def _device_work(report: Report, window: tuple[int, int] | None) -> pl.DataFrame:
    frames = [_table(report, name, window) for name in ("kernels", "copies")]
    return pl.concat([frame.with_columns(pl.col(pl.Categorical).cast(pl.String)) for frame in frames], how="diagonal")


def _longest(work: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    kept = work.top_k(DEVICE_ITEMS, by="dur_ns") if work.height > DEVICE_ITEMS else work
    return kept.sort("start_ns"), work.height - kept.height


def _earliest(*frames: pl.DataFrame) -> int:
    starts = [frame["start_ns"].min() for frame in frames]
    return min((start for start in starts if isinstance(start, int)), default=0)


def _devices(work: pl.DataFrame, gaps: pl.DataFrame, origin: int) -> Iterator[Event]:
    present = pl.concat([frame["device"] for frame in (work, gaps)]).unique().drop_nulls().sort().to_list()
    for device in present:
        process = FIRST_DEVICE_PROCESS + device
        mine, idle = (frame.filter(pl.col("device") == device) for frame in (work, gaps))
        streams = mine["stream"].unique().drop_nulls().sort().to_list() if mine.height else []
        names = {IDLE_THREAD: "idle, by cause"} if idle.height else {}
        names |= {thread: f"stream {stream}" for thread, stream in enumerate(streams, IDLE_THREAD + 1)}
        yield from _named(process, f"Device {device}", names)
        if idle.height:
            yield from _slices(idle.with_columns(name=pl.col("cause").cast(pl.String)), origin, process, IDLE_THREAD)
        for thread, stream in enumerate(streams, IDLE_THREAD + 1):
            yield from _slices(mine.filter(pl.col("stream") == stream), origin, process, thread)


def _findings(findings: Iterable[Finding], origin: int) -> Iterator[Event]:
    """Spans of evidence as asynchronous slices, because they may overlap; a row without a duration is an instant."""
    placed = [finding for finding in findings if "start_ns" in finding.evidence.columns]
    if placed:
        yield from _named(FINDINGS_PROCESS, "Findings", {})
    for finding in placed:
        for index, row in enumerate(finding.evidence.drop_nulls("start_ns").to_dicts()):
            event: Event = {"name": finding.detector, "cat": finding.detector, "id": f"{finding.detector} {index}"}
            event |= {"pid": FINDINGS_PROCESS, "tid": 0, "ts": (row["start_ns"] - origin) / 1000}
            arguments = json_value({**row, "message": finding.message})
            if row.get("dur_ns") is None:
                yield event | {"ph": "n", "args": arguments}
            else:
                yield event | {"ph": "b", "args": arguments}
                yield event | {"ph": "e", "ts": (row["start_ns"] + row["dur_ns"] - origin) / 1000}


def _named(process: int, name: str, threads: dict[int, str]) -> Iterator[Event]:
    yield {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "args": {"name": name}}
    yield {"ph": "M", "name": "process_sort_index", "pid": process, "tid": 0, "args": {"sort_index": process}}
    for thread, label in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": process, "tid": thread, "args": {"name": label}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": process, "tid": thread, "args": {"sort_index": thread}}


def _slices(frame: pl.DataFrame, origin: int, process: int, thread: int) -> Iterator[Event]:
    if not frame.height:
        return
    chosen = frame.select(
        "name",
        pl.lit("X").alias("ph"),
        pl.lit(process).alias("pid"),
        pl.lit(thread).alias("tid"),
        ((pl.col("start_ns") - origin) / 1000).alias("ts"),
        (pl.col("dur_ns") / 1000).alias("dur"),
        *(pl.col(name) for name in ARGUMENTS if name in frame.columns),
    )
    for row in chosen.to_dicts():
        arguments = {name: row.pop(name) for name in ARGUMENTS if name in row}
        yield row | {"args": {name: value for name, value in arguments.items() if value is not None}}
