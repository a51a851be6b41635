"""How often are captured graphs replayed, and how much of the device's work do they carry?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.Categorical, "", "launching call: cudaGraphLaunch, hipGraphLaunch"),
    Column("work_count", pl.Int64, "", "work items of one replay; graphs of different size are different rows"),
    Column("replays", pl.Int64, "", "launches"),
    Column("host_ns", pl.Int64, "ns", "summed duration of the launching calls"),
    Column("device_ns", pl.Int64, "ns", "summed duration of the work they started"),
    Column("device_fraction", pl.Float64, "", "share of all summed device work"),
)

GRAPH_LAUNCH = r"(?i)GraphLaunch"


def graph_replays(launches: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """Graph launches by call and size; no rows where the run replays no graphs."""
    work = device_work(kernels, copies)
    per_launch = work.drop_nulls("launch_id").group_by("launch_id").agg(device_ns=pl.col("dur_ns").sum())
    replays = launches.filter(pl.col("name").cast(pl.String).str.contains(GRAPH_LAUNCH))
    return (
        replays.join(per_launch, left_on="id", right_on="launch_id", how="left")
        .group_by("name", "work_count")
        .agg(replays=pl.len().cast(pl.Int64), host_ns=pl.col("dur_ns").sum(), device_ns=pl.col("device_ns").sum())
        .with_columns(device_fraction=pl.col("device_ns") / max(int(work["dur_ns"].sum()), 1))
        .sort("device_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
