"""Adding the step in which something began."""

from __future__ import annotations

import polars as pl


def with_step(frame: pl.DataFrame, steps: pl.DataFrame | None) -> pl.DataFrame:
    """Add `step` by start_ns; null outside steps and where the trace has none. The frame comes back in start order."""
    ordered = frame.sort("start_ns", maintain_order=True)
    if steps is None:
        return ordered.with_columns(step=pl.lit(None, dtype=pl.Int64))
    bounds = steps.sort("start_ns").select("start_ns", "step", step_end=pl.col("start_ns") + pl.col("dur_ns"))
    joined = ordered.join_asof(bounds, on="start_ns", strategy="backward")
    within = pl.col("start_ns") < pl.col("step_end")
    return joined.with_columns(step=pl.when(within).then(pl.col("step"))).drop("step_end")
