"""Which kernels take the device's time, by name?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._spread import share, spread, spread_columns
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("name", pl.Categorical, "", "kernel"),
    Column("kind", pl.Categorical, "", "gemm, attention, convolution, collective, elementwise …"),
    *spread_columns("launches"),
    Column("time_fraction", pl.Float64, "", "share of the device's summed kernel time"),
)


def kernel_breakdown(kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels and memsets of the whole recording, the most expensive name first."""
    return (
        kernels.group_by("device", "name", "kind")
        .agg(spread())
        .with_columns(time_fraction=share(over="device"))
        .sort("total_ns", "name", descending=[True, False])
        .select(column.name for column in COLUMNS)
    )
