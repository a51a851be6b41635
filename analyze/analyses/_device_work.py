"""Kernels and copies as one frame, the devices in it, and the step windows to look at it through."""

from __future__ import annotations

import polars as pl

COLUMNS = ("id", "device", "stream", "name", "kind", "start_ns", "dur_ns", "step", "launch_id", "op_id")


def device_work(kernels: pl.DataFrame | None, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """Kernels and copies in order of their start; `kind` is text, 'memcpy' for a copy."""
    parts = [pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.Int64) | {"name": pl.Categorical, "kind": pl.String})]
    if kernels is not None:
        parts.append(kernels.with_columns(pl.col("kind").cast(pl.String)).select(COLUMNS))
    if copies is not None:
        parts.append(copies.with_columns(kind=pl.lit("memcpy")).select(COLUMNS))
    return pl.concat(parts).sort("start_ns", maintain_order=True)


def by_device(work: pl.DataFrame) -> list[tuple[int | None, pl.DataFrame]]:
    """The frame's rows by device, devices in order; where the trace names none there is one, None."""
    return [(device, work.filter(pl.col("device").eq_missing(device))) for device in work["device"].unique().sort()]


def windows(work: pl.DataFrame, step_time: pl.DataFrame | None) -> pl.DataFrame:
    """Columns step, start_ns, end_ns: every profiled step, then the whole recording (step null), first to last work."""
    finish = pl.col("start_ns") + pl.col("dur_ns")
    whole = work.select(pl.lit(None, dtype=pl.Int64).alias("step"), pl.col("start_ns").min(), end_ns=finish.max()).head(1)
    if step_time is None:
        return whole
    steps = step_time.filter("profiled").select("step", "start_ns", end_ns=pl.col("start_ns") + pl.col("step_ns"))
    return pl.concat([steps.sort("start_ns"), whole])
