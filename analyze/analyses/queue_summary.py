"""Does the host run ahead of the device: how full are the streams' queues?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("stream", pl.Int64, "", "stream"),
    Column("span_ns", pl.Int64, "ns", "from the first to the last change of the queue"),
    Column("mean_length", pl.Float64, "", "time-weighted mean; null where the queue never held anything"),
    Column("p50_length", pl.Int64, "", "time-weighted median"),
    Column("p99_length", pl.Int64, "", "time-weighted 99th percentile"),
    Column("max_length", pl.Int64, "", "longest"),
    Column("empty_fraction", pl.Float64, "", "share of the time with nothing waiting"),
    Column("launch_count", pl.Int64, "", "launches counted"),
    Column("orphan_count", pl.Int64, "", "work on the stream whose launch is unknown, not counted"),
)


def queue_summary(queue_length: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per stream; streams whose launches are all unknown have null lengths."""
    lane = ["device", "stream"]
    weighted = queue_length.filter(pl.col("dur_ns") > 0).sort("length")
    until, whole = pl.col("dur_ns").cum_sum(), pl.col("dur_ns").sum()
    lengths = weighted.group_by(lane).agg(
        span_ns=whole,
        mean_length=(pl.col("length") * pl.col("dur_ns")).sum() / whole,
        p50_length=pl.col("length").filter(until >= 0.5 * whole).first(),
        p99_length=pl.col("length").filter(until >= 0.99 * whole).first(),
        empty_fraction=pl.col("dur_ns").filter(pl.col("length") == 0).sum() / whole,
    )
    longest = queue_length.group_by(lane).agg(max_length=pl.col("length").max())
    counts = (
        device_work(kernels, copies)
        .group_by(lane)
        .agg(
            launch_count=pl.col("launch_id").drop_nulls().n_unique().cast(pl.Int64),
            orphan_count=pl.col("launch_id").is_null().sum().cast(pl.Int64),
        )
    )
    return (
        counts.join(lengths, on=lane, how="left", nulls_equal=True)
        .join(longest, on=lane, how="left", nulls_equal=True)
        .sort(lane)
        .select(column.name for column in COLUMNS)
    )
