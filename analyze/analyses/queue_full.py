"""How long is each stream's queue full, so that launches have to wait?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("stream", pl.Int64, "", "stream"),
    Column("full_ns", pl.Int64, "ns", "time with at least FULL_LENGTH launches waiting"),
    Column("full_fraction", pl.Float64, "", "share of the time from the first to the last change of the queue"),
    Column("span_count", pl.Int64, "", "stretches in which it was full"),
    Column("longest_ns", pl.Int64, "ns", "longest such stretch"),
)

#: launches a driver queues before the next one waits
FULL_LENGTH = 1024


def queue_full(queue_length: pl.DataFrame) -> pl.DataFrame:
    """One row per stream with a queue, zeros where it was never full."""
    lane = ["device", "stream"]
    full = (pl.col("length") >= FULL_LENGTH).fill_null(value=False)
    marked = queue_length.drop_nulls("dur_ns").with_columns(full=full, stretch=full.rle_id().over(lane))
    stretches = marked.filter("full").group_by(*lane, "stretch").agg(pl.col("dur_ns").sum())
    filled = stretches.group_by(lane).agg(
        full_ns=pl.col("dur_ns").sum(), span_count=pl.len().cast(pl.Int64), longest_ns=pl.col("dur_ns").max()
    )
    return (
        marked.group_by(lane)
        .agg(span_ns=pl.col("dur_ns").sum())
        .join(filled, on=lane, how="left", nulls_equal=True)
        .with_columns(pl.col("full_ns", "span_count", "longest_ns").fill_null(0))
        .with_columns(full_fraction=pl.when(pl.col("span_ns") > 0).then(pl.col("full_ns") / pl.col("span_ns")))
        .sort(lane)
        .select(column.name for column in COLUMNS)
    )
