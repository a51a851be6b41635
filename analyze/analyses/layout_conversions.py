"""How much time goes into rearranging tensors from one memory layout to another?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("name", pl.Categorical, "", "kernel"),
    Column("op", pl.Categorical, "", "operator that launched it; null where unknown"),
    Column("count", pl.Int64, "", "launches"),
    Column("total_ns", pl.Int64, "ns", "summed duration"),
    Column("kernel_fraction", pl.Float64, "", "share of the device's summed kernel time"),
)


def layout_conversions(kernels: pl.DataFrame, cpu_ops: pl.DataFrame | None = None) -> pl.DataFrame:
    """Layout kernels by name and operator; no rows where there are none."""
    operators = pl.DataFrame(schema={"op_id": pl.Int64, "op": pl.Categorical})
    if cpu_ops is not None:
        operators = cpu_ops.select(op_id="id", op="name")
    return (
        kernels.with_columns(all_ns=pl.col("dur_ns").sum().over("device"))
        .filter(pl.col("kind").cast(pl.String) == "layout")
        .join(operators, on="op_id", how="left")
        .group_by("device", "name", "op")
        .agg(pl.col("all_ns").first(), count=pl.len().cast(pl.Int64), total_ns=pl.col("dur_ns").sum())
        .with_columns(kernel_fraction=pl.col("total_ns") / pl.col("all_ns"))
        .sort("total_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
