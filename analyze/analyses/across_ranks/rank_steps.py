"""Ranks by steps: how long was each rank's own part of each step, and how much did it wait?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("step", pl.Int64, "", "step that every rank recorded"),
    Column("rank", pl.Int64, "", "rank"),
    Column("step_ns", pl.Int64, "ns", "step time on this rank"),
    Column("own_ns", pl.Int64, "ns", "the rank's own part: what it did while no collective held it up"),
    Column("blocked_ns", pl.Int64, "ns", "rest of the step: waiting for ranks and transfers"),
    Column("compute_ns", pl.Int64, "ns", "own part in which the device computed"),
    Column("copy_ns", pl.Int64, "ns", "own part in which only copies ran"),
    Column("input_wait_ns", pl.Int64, "ns", "own part spent waiting for the next batch"),
    Column("gc_ns", pl.Int64, "ns", "own part spent collecting garbage"),
    Column("host_ns", pl.Int64, "ns", "own part spent by the host on anything else"),
    Column("behind_ns", pl.Float64, "ns", "own part less the median of all ranks' in this step"),
)


def rank_steps(own_time: pl.DataFrame) -> pl.DataFrame:
    """One row per common step and rank; steps that some rank lacks are left out."""
    common = pl.col("rank").n_unique().over("step") == own_time["rank"].n_unique()
    return (
        own_time.filter(common)
        .with_columns(behind_ns=pl.col("own_ns") - pl.col("own_ns").median().over("step"))
        .sort("step", "rank")
        .select(column.name for column in COLUMNS)
    )
