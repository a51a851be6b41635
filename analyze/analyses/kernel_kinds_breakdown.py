"""What kinds of kernels take the device's time?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._spread import share, spread, spread_columns
from analyze.intervals import busy_ns
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("kind", pl.Categorical, "", "gemm, attention, convolution, collective, elementwise …"),
    *spread_columns("launches"),
    Column("busy_ns", pl.Int64, "ns", "union over streams: less than the sum where kernels of the kind overlap"),
    Column("name_count", pl.Int64, "", "different kernel names"),
    Column("time_fraction", pl.Float64, "", "share of the device's summed kernel time"),
)


def kernel_kinds_breakdown(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels and memsets of the whole recording by kind, the most expensive first."""
    return (
        kernels.group_by("device", "kind")
        .agg(*spread(), name_count=pl.col("name").n_unique().cast(pl.Int64))
        .join(busy_ns(kernels, ["device", "kind"]), on=["device", "kind"], how="left", nulls_equal=True)
        .with_columns(busy_ns=pl.col("busy_ns").fill_null(0), time_fraction=share(over="device"))
        .sort("total_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
