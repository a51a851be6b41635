"""What is the critical path made of?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.replay import Replay

COLUMNS = (
    Column("kind", pl.String, "", "as in critical_path"),
    Column("ns", pl.Float64, "ns", "mean per step at the replay's speed; rows add up to the replayed step"),
    Column("path_fraction", pl.Float64, "", "share of the path"),
    Column("segment_count", pl.Int64, "", "stretches of the whole window"),
)


def critical_path_breakdown(critical_path: pl.DataFrame, replay: Replay) -> pl.DataFrame:
    """One row per kind, the longest first."""
    total = pl.col("dur_ns").sum()
    return (
        critical_path.group_by("kind")
        .agg(ns=total / replay.program.steps, path_ns=total, segment_count=pl.len().cast(pl.Int64))
        .with_columns(path_fraction=pl.col("path_ns") / pl.col("path_ns").sum())
        .sort("ns", "kind", descending=[True, False])
        .select(column.name for column in COLUMNS)
    )
