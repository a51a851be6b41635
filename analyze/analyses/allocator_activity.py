"""Does the step allocate or free device memory through the driver instead of the cache?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("name", pl.Categorical, "", "call: cudaMalloc, cudaFree, cuMemMap …"),
    Column("role", pl.String, "", "allocation or free"),
    Column("count", pl.Int64, "", "calls within steps, or in the whole recording where it has no steps"),
    Column("total_ns", pl.Int64, "ns", "their summed duration; most of a free is waiting for the device"),
    Column("max_ns", pl.Int64, "ns", "longest"),
    Column("step_count", pl.Int64, "", "steps in which the call was made"),
    Column("count_per_step", pl.Float64, "", "mean calls per step; null without steps"),
    Column("ns_per_step", pl.Float64, "ns", "mean time per step; null without steps"),
)


def allocator_activity(launches: pl.DataFrame, steps: pl.DataFrame | None = None) -> pl.DataFrame:
    """Driver allocations and frees by call; no rows where the cache served everything."""
    role = pl.col("blocking").cast(pl.String)
    calls = launches.filter(role.is_in(["allocation", "free"]))
    per_step = pl.lit(None, dtype=pl.Float64)
    if steps is not None:
        calls = calls.drop_nulls("step")
        per_step = pl.lit(float(steps.height))
    return (
        calls.group_by("name", role=role)
        .agg(
            count=pl.len().cast(pl.Int64),
            total_ns=pl.col("dur_ns").sum(),
            max_ns=pl.col("dur_ns").max(),
            step_count=pl.col("step").drop_nulls().n_unique().cast(pl.Int64),
        )
        .with_columns(count_per_step=pl.col("count") / per_step, ns_per_step=pl.col("total_ns") / per_step)
        .sort("total_ns", pl.col("name").cast(pl.String), descending=[True, False])
        .select(column.name for column in COLUMNS)
    )
