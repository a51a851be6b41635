"""Which ranks run on one device, and how much of their kernels' time did each have it to itself?

A device takes its processes in turns: while n of them have kernels to run, each gets one nth of it. What a rank's span would
have taken on a device of its own is its time alone plus its shares, less what the device lost in changing over.
"""

from __future__ import annotations

import polars as pl

from analyze.analyses.across_ranks._one_clock import on_one_clock
from analyze.errors import MissingData
from analyze.intervals import equal_shares
from analyze.schema import Column

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("device_uuid", pl.String, "", "device it ran on"),
    Column("start_ns", pl.Int64, "ns", "start of a span of kernels by this rank's own clock"),
    Column("dur_ns", pl.Int64, "ns", "its duration"),
    Column("alone_ns", pl.Float64, "ns", "part in which no other rank had kernels on the device"),
    Column("shares_ns", pl.Float64, "ns", "rest of it, each instant divided by how many ranks had kernels then"),
)


def device_turns(device_spans: pl.DataFrame, rank_clocks: pl.DataFrame) -> pl.DataFrame:
    """One row per span of kernels of each rank; raises MissingData where no two ranks share a device."""
    known = device_spans.join(rank_clocks.select("rank"), on="rank", how="semi", maintain_order="left")
    if known.filter(pl.col("rank").n_unique().over("device_uuid") > 1).is_empty():
        raise MissingData("every rank has a device of its own")
    aligned = on_one_clock(known.with_columns(own_ns="start_ns"), rank_clocks)
    aligned = aligned.rename({"start_ns": "common_ns", "own_ns": "start_ns"})
    return (
        pl.concat([_of_device(spans) for spans in aligned.partition_by("device_uuid", maintain_order=True)])
        .sort("rank", "start_ns")
        .select(column.name for column in COLUMNS)
    )


def _of_device(spans: pl.DataFrame) -> pl.DataFrame:
    """Spans of one rank do not overlap: at any time as many are open as ranks have kernels."""
    start = spans["common_ns"].to_numpy()
    end = start + spans["dur_ns"].to_numpy()
    alone, shares = equal_shares(start, end)
    return spans.with_columns(alone_ns=pl.Series(alone), shares_ns=pl.Series(shares))
