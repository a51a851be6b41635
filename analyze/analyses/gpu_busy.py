"""How much of each step is each device busy, and how much without waiting in collectives?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.intervals import covered_per_window, of_frame
from analyze.schema import Column

if TYPE_CHECKING:
    import numpy as np

COLUMNS = (
    Column("step", pl.Int64, "", "step number"),
    Column("device", pl.Int64, "", "device"),
    Column("span_ns", pl.Int64, "ns", "step time, from the end of the step before to the end of this one"),
    Column("busy_ns", pl.Int64, "ns", "covered by kernels or copies on any stream (a union, not a sum)"),
    Column("busy_without_collectives_ns", pl.Int64, "ns", "covered by work other than collectives"),
    Column("kernel_sum_ns", pl.Int64, "ns", "summed kernel durations; exceeds the span where streams overlap"),
)


def gpu_busy(kernels: pl.DataFrame, step_time: pl.DataFrame, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """Busy time of each device within each profiled step, by when the work ran."""
    windows = step_time.filter("profiled")
    start = windows["start_ns"].to_numpy()
    end = start + windows["step_ns"].to_numpy()
    frames = []
    for device in kernels["device"].unique().sort():
        on_device = pl.col("device") == device if device is not None else pl.col("device").is_null()
        mine = kernels.filter(on_device).select("start_ns", "dur_ns", "kind")
        parts = [mine.select("start_ns", "dur_ns")]
        if copies is not None:
            parts.append(copies.filter(on_device).select("start_ns", "dur_ns"))
        work = pl.concat(parts)
        others = pl.concat([mine.filter(pl.col("kind") != "collective").select("start_ns", "dur_ns"), *parts[1:]])
        sums = mine.sort("start_ns").with_columns(until=pl.col("dur_ns").cum_sum())
        frames.append(
            pl.DataFrame(
                {
                    "step": windows["step"],
                    "device": [device] * windows.height,
                    "span_ns": windows["step_ns"],
                    "busy_ns": covered_per_window(of_frame(work), start, end),
                    "busy_without_collectives_ns": covered_per_window(of_frame(others), start, end),
                    "kernel_sum_ns": _sum_begun_within(sums, start, end),
                },
                schema={column.name: column.dtype for column in COLUMNS},
            )
        )
    return pl.concat(frames)


def _sum_begun_within(sums: pl.DataFrame, start: np.ndarray, end: np.ndarray) -> pl.Series:
    """Sum of durations of what began within each window."""
    begun = sums["start_ns"]
    until = pl.concat([pl.Series([0], dtype=pl.Int64), sums["until"]])
    last, first = (until.gather(begun.search_sorted(pl.Series(edge))) for edge in (end, start))
    between: pl.Series = last - first
    return between
