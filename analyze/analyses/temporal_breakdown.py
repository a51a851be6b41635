"""How does each device spend its time: computing, communicating, copying, or idle?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import by_device, device_work, windows
from analyze.intervals import covered_per_window, of_frame, subtract, union
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("step", pl.Int64, "", "step; null for the whole recording, first to last device work"),
    Column("span_ns", pl.Int64, "ns", "length of the step or recording: the four exclusive parts add up to it"),
    Column("compute_ns", pl.Int64, "ns", "some stream computes (memsets included)"),
    Column("exposed_communication_ns", pl.Int64, "ns", "a collective runs and nothing computes"),
    Column("exposed_copy_ns", pl.Int64, "ns", "a copy runs, and neither computation nor collective"),
    Column("idle_ns", pl.Int64, "ns", "nothing runs; lead-in and tail of a step included"),
    Column("communication_ns", pl.Int64, "ns", "a collective runs, whatever else does"),
    Column("copy_ns", pl.Int64, "ns", "a copy runs, whatever else does"),
)


def temporal_breakdown(
    kernels: pl.DataFrame, copies: pl.DataFrame | None = None, step_time: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Per device: every profiled step by when work ran, then the whole recording. All are unions over streams."""
    kind = pl.col("kind")
    frames = []
    for device, mine in by_device(device_work(kernels, copies)):
        compute = of_frame(mine.filter(~kind.is_in(["collective", "memcpy"])))
        communication, copy = of_frame(mine.filter(kind == "collective")), of_frame(mine.filter(kind == "memcpy"))
        parts = {
            "compute_ns": compute,
            "exposed_communication_ns": subtract(communication, compute),
            "exposed_copy_ns": subtract(copy, union(compute, communication)),
            "communication_ns": communication,
            "copy_ns": copy,
        }
        seen = windows(mine, step_time)
        covered = {
            name: pl.Series(covered_per_window(spans, seen["start_ns"].to_numpy(), seen["end_ns"].to_numpy()))
            for name, spans in parts.items()
        }
        frames.append(seen.with_columns(**covered, device=pl.lit(device, dtype=pl.Int64)))
    busy = pl.col("compute_ns") + pl.col("exposed_communication_ns") + pl.col("exposed_copy_ns")
    span = pl.col("end_ns") - pl.col("start_ns")
    return pl.concat(frames).with_columns(span_ns=span, idle_ns=span - busy).select(column.name for column in COLUMNS)
