"""What did each collective cost: skew of the arrivals, waiting, transfer, and the bandwidth that the transfer reached?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("match", pl.Int64, "", "number of the collective, in order of time"),
    Column("step", pl.Int64, "", "step"),
    Column("group", pl.String, "", "process group; null where the trace does not name it"),
    Column("kind", pl.String, "", "all-reduce, all-gather, reduce-scatter …"),
    Column("bytes", pl.Int64, "bytes", "payload, the largest of the ranks'; null where unknown"),
    Column("ranks", pl.Int64, "", "ranks that recorded it"),
    Column("start_ns", pl.Int64, "ns", "first arrival on the lowest rank's clock"),
    Column("skew_ns", pl.Int64, "ns", "longest wait: from the first to the last arrival"),
    Column("wait_ns", pl.Float64, "ns", "mean wait of a rank"),
    Column("transfer_ns", pl.Int64, "ns", "transfer"),
    Column("exposed_wait_ns", pl.Float64, "ns", "mean wait of a rank in which it did nothing else"),
    Column("last_rank", pl.Int64, "", "rank that came last"),
    Column("algorithm_bytes_per_s", pl.Float64, "bytes/s", "payload over transfer; null where the payload is unknown"),
    Column(
        "bus_bytes_per_s", pl.Float64, "bytes/s", "what each link carried, comparable between numbers of ranks; null likewise"
    ),
    Column("profiler_start", pl.Boolean, "", "ranks began to record at different times; the wait says nothing about them"),
)

#: bytes that cross each rank's link, per byte of payload, in units of (n - 1) / n for n ranks: as nccl-tests has it
BUS_SHARES = {"all-reduce": 2.0, "all-gather": 1.0, "reduce-scatter": 1.0, "all-to-all": 1.0}


def collective_costs(collective_arrivals: pl.DataFrame) -> pl.DataFrame:
    """One row per collective."""
    factor: pl.Expr = pl.lit(1.0)
    others = (pl.col("ranks") - 1) / pl.col("ranks")
    for kind, shares in BUS_SHARES.items():
        factor = pl.when(pl.col("kind") == kind).then(shares * others).otherwise(factor)
    return (
        collective_arrivals.group_by("match", maintain_order=True)
        .agg(
            pl.col("step", "group", "kind", "ranks", "transfer_ns", "profiler_start").first(),
            pl.col("bytes").max(),
            pl.col("start_ns").min(),
            skew_ns=pl.col("wait_ns").max(),
            wait_ns=pl.col("wait_ns").mean(),
            exposed_wait_ns=pl.col("exposed_wait_ns").mean(),
            last_rank=pl.col("rank").filter("last").first(),
        )
        .with_columns(
            algorithm_bytes_per_s=pl.when(pl.col("transfer_ns") > 0).then(pl.col("bytes") / pl.col("transfer_ns") * 1e9)
        )
        .with_columns(bus_bytes_per_s=pl.col("algorithm_bytes_per_s") * factor)
        .select(column.name for column in COLUMNS)
    )
