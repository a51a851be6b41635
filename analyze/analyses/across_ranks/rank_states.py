"""How do the ranks' devices differ: clocks, memory, temperature, the model itself?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("host", pl.String, "", "host name; null where unknown"),
    Column("device_uuid", pl.String, "", "device; null where unknown"),
    Column("device_name", pl.String, "", "device's name; null where unknown"),
    Column("sm_clock_mhz", pl.Float64, "MHz", "median clock within the steps; null where not sampled"),
    Column("power_w", pl.Float64, "W", "mean power within the steps; null likewise"),
    Column("temperature_c", pl.Float64, "°C", "highest temperature within the steps; null likewise"),
    Column("held_down_share", pl.Float64, "", "share of samples slowed down by heat or power; null likewise"),
    Column("peak_bytes", pl.Int64, "bytes", "most memory in use; null where unknown"),
    Column("memory_total_bytes", pl.Int64, "bytes", "memory of the device"),
    Column("clock_ratio", pl.Float64, "", "clock over the median of all ranks'; null where not sampled"),
    Column("memory_ratio", pl.Float64, "", "memory in use over the median of all ranks'; null where unknown"),
)


def rank_states(rank_state: pl.DataFrame) -> pl.DataFrame:
    """One row per rank."""
    return (
        rank_state.with_columns(
            clock_ratio=pl.col("sm_clock_mhz") / pl.col("sm_clock_mhz").median(),
            memory_ratio=pl.col("peak_bytes") / pl.col("peak_bytes").median(),
        )
        .sort("rank")
        .select(column.name for column in COLUMNS)
    )
