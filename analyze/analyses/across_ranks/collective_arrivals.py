"""In each collective: who came when, how long did each wait, and what is left as transfer?"""

from __future__ import annotations

import polars as pl

from analyze.analyses.across_ranks._one_clock import on_one_clock
from analyze.scalars import number
from analyze.schema import Column

COLUMNS = (
    Column("match", pl.Int64, "", "number of the collective, in order of time"),
    Column("rank", pl.Int64, "", "rank"),
    Column("step", pl.Int64, "", "step"),
    Column("group", pl.String, "", "process group; null where the trace does not name it"),
    Column("kind", pl.String, "", "all-reduce, all-gather, reduce-scatter …"),
    Column("bytes", pl.Int64, "bytes", "payload of this rank; null where unknown"),
    Column("ranks", pl.Int64, "", "ranks that recorded it"),
    Column("start_ns", pl.Int64, "ns", "arrival on the lowest rank's clock"),
    Column("dur_ns", pl.Int64, "ns", "duration on this rank"),
    Column("behind_ns", pl.Int64, "ns", "arrival after the first rank's"),
    Column("wait_ns", pl.Int64, "ns", "wait for the last rank: what the duration exceeds the shortest one by"),
    Column("transfer_ns", pl.Int64, "ns", "shortest duration of all ranks: the last one waits for nobody"),
    Column("exposed_wait_ns", pl.Int64, "ns", "part of the wait in which this rank did nothing else"),
    Column("blocked_ns", pl.Int64, "ns", "end of the call that held this rank up: waiting first, then transfer"),
    Column("blocked_wait_ns", pl.Int64, "ns", "part of the wait that held this rank up, once where collectives overlap"),
    Column("last", pl.Boolean, "", "whether this rank came last"),
    Column("profiler_start", pl.Boolean, "", "ranks began to record at different times; this wait says nothing about them"),
)

#: the first collective counts as spoilt by the recording's start if ranks came apart by at least this,
START_SKEW_NS = 2_000_000
#: if their first steps began this share of it apart,
START_SHARE = 0.4
#: and if later steps begin closer together, and their first collectives wait less, by this factor
LATER_FACTOR = 0.5


def collective_arrivals(matched_collectives: pl.DataFrame, rank_clocks: pl.DataFrame, own_time: pl.DataFrame) -> pl.DataFrame:
    """One row per collective and rank, on one clock.

    The split needs no clock: all leave together, so the rank with the shortest call came last, and what others took longer
    was waiting for it.
    """
    aligned = on_one_clock(matched_collectives, rank_clocks)
    shortest = pl.col("dur_ns").min().over("match")
    wait = pl.col("dur_ns") - shortest
    split = aligned.with_columns(
        behind_ns=pl.col("start_ns") - pl.col("start_ns").min().over("match"),
        wait_ns=wait,
        transfer_ns=shortest,
        exposed_wait_ns=pl.min_horizontal("exposed_ns", wait),
        # what blocks is the end of a call, and the transfer is the end of that
        blocked_wait_ns=(pl.col("blocked_ns") - shortest).clip(0),
        last=pl.col("rank") == pl.col("rank").sort_by("dur_ns", "rank").first().over("match"),
    )
    spoilt = _spoilt_by_start(split, on_one_clock(own_time, rank_clocks))
    return split.with_columns(profiler_start=spoilt).select(column.name for column in COLUMNS)


def _spoilt_by_start(split: pl.DataFrame, steps: pl.DataFrame) -> pl.Series:
    """The first collective of each group, where ranks come apart because they began to record apart."""
    begun = steps.group_by("step").agg(apart=pl.col("start_ns").max() - pl.col("start_ns").min()).sort("step")
    begun = begun.join(split.select("step"), on="step", how="semi")
    first_apart, later = begun["apart"][0], begun["apart"][1:].median()
    skews = split.group_by("match", "group", "step").agg(skew=pl.col("wait_ns").max()).sort("match")
    firsts = skews.unique(["group", "step"], keep="first", maintain_order=True)
    usual = pl.col("skew").slice(1).median().fill_null(0)
    first = firsts.group_by("group").agg(pl.col("match").first(), usual=usual, skew=pl.col("skew").first())
    closer_later = later is None or number(later) < LATER_FACTOR * first_apart
    spoilt = first.filter(
        pl.col("skew") > START_SKEW_NS,
        first_apart > START_SHARE * pl.col("skew"),
        pl.col("usual") < LATER_FACTOR * pl.col("skew"),
        pl.lit(closer_later),
    )
    return split.select(pl.col("match").is_in(spoilt["match"].implode())).to_series()
