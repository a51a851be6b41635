"""Does a rank that computes longer do more, or the same more slowly? Kernel by kernel, against the other ranks."""

from __future__ import annotations

import polars as pl

from analyze.analyses.across_ranks._others import others_median
from analyze.schema import Column

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("count_ratio", pl.Float64, "", "kernels it runs per step over the median of all ranks, weighed by their time"),
    Column("pace_ratio", pl.Float64, "", "time of one kernel over the median of all ranks, weighed by their time"),
    Column("pace_spread", pl.Float64, "", "weighed mean distance of single kernels from that ratio: small where all are alike"),
    Column("shared_fraction", pl.Float64, "", "share of its time in kernels that other ranks run too"),
    Column("work_ratio", pl.Float64, "", "its work by shapes over the median of the other ranks'; null where shapes are unknown"),
)


def rank_pace(kernel_pace: pl.DataFrame, shaped_work: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per rank; ratios of kernels rest on those that at least one other rank runs."""
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
        .join(_work(shaped_work), on="rank", how="left")
        .sort("rank")
        .select(column.name for column in COLUMNS)
    )


def _work(shaped_work: pl.DataFrame | None) -> pl.DataFrame:
    """Work of each rank against the others, by operations where all have some, else by bytes."""
    if shaped_work is None or shaped_work.height < 2:  # noqa: PLR2004 - two make a comparison
        return pl.DataFrame(schema={"rank": pl.Int64, "work_ratio": pl.Float64})
    by = "flops_per_step" if shaped_work["flops_per_step"].min() else "bytes_per_step"
    work = shaped_work.select("rank", pl.col(by).alias("work"), everyone=pl.lit(0))
    return work.select("rank", work_ratio=pl.col("work") / others_median("work", within="everyone"))
