"""Does a rank that computes longer do more, or the same more slowly? Kernel by kernel, against the other ranks."""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("count_ratio", pl.Float64, "", "kernels it runs per step over the median of all ranks, weighed by their time"),
    Column("pace_ratio", pl.Float64, "", "time of one kernel over the median of all ranks, weighed by their time"),
    Column("pace_spread", pl.Float64, "", "weighed mean distance of single kernels from that ratio: small where all are alike"),
    Column("shared_fraction", pl.Float64, "", "share of its time in kernels that other ranks run too"),
)


def rank_pace(kernel_pace: pl.DataFrame) -> pl.DataFrame:
    """One row per rank; ratios rest on the kernels that at least one other rank runs."""
    usual = kernel_pace.with_columns(
        others=pl.col("rank").n_unique().over("name") - 1,
        usual_count=pl.col("count_per_step").median().over("name"),
        usual_mean=pl.col("mean_ns").median().over("name"),
    )
    shared = usual.filter(pl.col("others") > 0)
    weight = pl.col("usual_count") * pl.col("usual_mean")
    own = pl.col("count_per_step") * pl.col("usual_mean")
    pace = (pl.col("mean_ns") * pl.col("count_per_step")).sum() / own.sum()
    ratio = pl.col("mean_ns") / pl.col("usual_mean")
    return (
        shared.group_by("rank")
        .agg(
            count_ratio=own.sum() / weight.sum(),
            pace_ratio=pace,
            pace_spread=((ratio - pace).abs() * weight).sum() / weight.sum(),
            shared_ns=pl.col("ns_per_step").sum(),
        )
        .join(kernel_pace.group_by("rank").agg(all_ns=pl.col("ns_per_step").sum()), on="rank")
        .with_columns(shared_fraction=pl.col("shared_ns") / pl.col("all_ns"))
        .sort("rank")
        .select(column.name for column in COLUMNS)
    )
