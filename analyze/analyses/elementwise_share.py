"""How much device time goes into small pointwise kernels that could be fused?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("kernel_ns", pl.Int64, "ns", "summed duration of all kernels but collectives"),
    Column("elementwise_ns", pl.Int64, "ns", "summed duration of pointwise kernels, copies between tensors and fills"),
    Column("elementwise_fraction", pl.Float64, "", "their share; null where no kernel took time"),
    Column("count", pl.Int64, "", "pointwise kernels"),
    Column("mean_ns", pl.Float64, "ns", "their mean duration"),
    Column("run_count", pl.Int64, "", "runs of two or more in a row on a stream"),
    Column("fusable_ns", pl.Int64, "ns", "time in such runs beyond the longest kernel of each"),
    Column("longest_run", pl.Int64, "", "kernels in the longest run"),
)

POINTWISE = ("elementwise", "copy", "memset")


def elementwise_share(kernels: pl.DataFrame) -> pl.DataFrame:
    """One row per device, over the whole recording. Optimizer kernels are a kind of their own, not pointwise."""
    kind = pl.col("kind").cast(pl.String)
    # memsets of the driver are no kernels that a compiler could fuse
    pointwise = kind.is_in(POINTWISE) & ~pl.col("name").cast(pl.String).str.starts_with("Memset")
    lane = ["device", "stream"]
    marked = (
        kernels.filter(kind != "collective")
        .sort(*lane, "start_ns")
        .with_columns(pointwise=pointwise)
        .with_columns(run=pl.col("pointwise").rle_id().over(lane))
    )
    runs = (
        marked.filter("pointwise")
        .group_by(*lane, "run")
        .agg(kernels=pl.len().cast(pl.Int64), beyond_ns=pl.col("dur_ns").sum() - pl.col("dur_ns").max())
        .filter(pl.col("kernels") > 1)
        .group_by("device")
        .agg(
            run_count=pl.len().cast(pl.Int64),
            fusable_ns=pl.col("beyond_ns").sum(),
            longest_run=pl.col("kernels").max(),
        )
    )
    mine = pl.col("dur_ns").filter(pl.col("pointwise"))
    return (
        marked.group_by("device")
        .agg(
            kernel_ns=pl.col("dur_ns").sum(),
            elementwise_ns=mine.sum(),
            count=pl.col("pointwise").sum().cast(pl.Int64),
            mean_ns=mine.mean(),
        )
        .join(runs, on="device", how="left", nulls_equal=True)
        .with_columns(
            pl.col("run_count", "fusable_ns", "longest_run").fill_null(0),
            elementwise_fraction=pl.when(pl.col("kernel_ns") > 0).then(pl.col("elementwise_ns") / pl.col("kernel_ns")),
        )
        .sort("device")
        .select(column.name for column in COLUMNS)
    )
