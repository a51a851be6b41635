"""What do launches cost the host, by call, and how much work does each start?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._spread import spread, spread_columns
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.Categorical, "", "call: cudaLaunchKernel, cuLaunchKernelEx, cudaGraphLaunch, hipLaunchKernel …"),
    *spread_columns("calls that started work, without those the profiler inflated"),
    Column("work_count", pl.Int64, "", "work items started"),
    Column("work_ns", pl.Int64, "ns", "summed duration of that work"),
    Column("shorter_count", pl.Int64, "", "calls whose work took less time than the call"),
    Column("p50_delay_ns", pl.Float64, "ns", "median time from the end of the call to the start of its work"),
    Column("p99_delay_ns", pl.Float64, "ns", "99th percentile of it"),
    Column("profiler_overhead_count", pl.Int64, "", "calls inflated by the profiler's own buffer handling, not counted above"),
    Column("profiler_overhead_ns", pl.Int64, "ns", "their summed duration"),
)


def launch_stats(launch_delay: pl.DataFrame) -> pl.DataFrame:
    """Calls that started work, by name, the most expensive first."""
    inflated = pl.col("profiler_overhead")
    clean = launch_delay.filter(~inflated)
    apart = launch_delay.group_by("name").agg(
        profiler_overhead_count=inflated.sum().cast(pl.Int64),
        profiler_overhead_ns=pl.col("call_ns").filter(inflated).sum(),
    )
    counted = clean.group_by("name").agg(
        *spread("call_ns"),
        pl.col("work_count").sum(),
        pl.col("work_ns").sum(),
        shorter_count=(pl.col("work_ns") < pl.col("call_ns")).sum().cast(pl.Int64),
        p50_delay_ns=pl.col("delay_ns").quantile(0.5, "linear"),
        p99_delay_ns=pl.col("delay_ns").quantile(0.99, "linear"),
    )
    return (
        apart.join(counted, on="name", how="left")
        .with_columns(pl.col("count", "total_ns", "work_count", "work_ns", "shorter_count").fill_null(0))
        .sort("total_ns", "name", descending=[True, False])
        .select(column.name for column in COLUMNS)
    )
