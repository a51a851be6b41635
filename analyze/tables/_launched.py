"""Adding the launching call, its step and its operator to device work."""

from __future__ import annotations

import polars as pl


def with_launch(work: pl.DataFrame, launches: pl.DataFrame | None) -> pl.DataFrame:
    """Add launch_id, step and op_id by correlation; null where the launch is missing or ambiguous."""
    if launches is None:
        nothing = pl.lit(None, dtype=pl.Int64)
        return work.with_columns(launch_id=nothing, step=nothing, op_id=nothing)
    launching = launches.filter(pl.col("work_count") > 0, pl.col("correlation").is_not_null()).select(
        "correlation", "step", "op_id", launch_id="id"
    )
    return work.join(launching, on="correlation", how="left", maintain_order="left")
