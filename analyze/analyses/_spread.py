"""How a duration is spread within a group: the columns that every breakdown by name or kind shares."""

from __future__ import annotations

import polars as pl

from analyze.schema import Column


def spread_columns(of: str) -> tuple[Column, ...]:
    """Documentation of spread()'s columns; `of` names what is counted."""
    return (
        Column("count", pl.Int64, "", of),
        Column("total_ns", pl.Int64, "ns", "summed duration"),
        Column("mean_ns", pl.Float64, "ns", "mean duration"),
        Column("p50_ns", pl.Float64, "ns", "median duration"),
        Column("p99_ns", pl.Float64, "ns", "99th percentile of the duration"),
        Column("min_ns", pl.Int64, "ns", "shortest"),
        Column("max_ns", pl.Int64, "ns", "longest"),
    )


def spread(duration: str = "dur_ns") -> list[pl.Expr]:
    """Aggregations that give spread_columns(), exact for any number of rows."""
    column = pl.col(duration)
    return [
        pl.len().cast(pl.Int64).alias("count"),
        column.sum().alias("total_ns"),
        column.mean().alias("mean_ns"),
        column.quantile(0.5, "linear").alias("p50_ns"),
        column.quantile(0.99, "linear").alias("p99_ns"),
        column.min().alias("min_ns"),
        column.max().alias("max_ns"),
    ]


def share(column: str = "total_ns", over: str | None = None) -> pl.Expr:
    """A column as a fraction of its sum; null where the sum is 0."""
    total = pl.col(column).sum() if over is None else pl.col(column).sum().over(over)
    return pl.when(total > 0).then(pl.col(column) / total)
