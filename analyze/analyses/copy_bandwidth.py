"""How fast do copies move their bytes, and how fast could they?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._first_device import first_device
from analyze.intervals import busy_ns
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("direction", pl.Categorical, "", "host-to-device, device-to-host, device-to-device, peer-to-peer …"),
    Column("host_memory", pl.Categorical, "", "pageable, pinned, unknown; null where no host memory is involved"),
    Column("count", pl.Int64, "", "copies of known size"),
    Column("bytes", pl.Int64, "bytes", "bytes moved by them"),
    Column("small_count", pl.Int64, "", "copies below SMALL_BYTES, whose time is latency, not bandwidth"),
    Column("total_ns", pl.Int64, "ns", "their summed duration"),
    Column("busy_ns", pl.Int64, "ns", "time in which at least one runs"),
    Column("bytes_per_s", pl.Float64, "bytes/s", "bytes by summed duration"),
    Column("p50_bytes_per_s", pl.Float64, "bytes/s", "median rate of a copy that is not small; null without any"),
    Column("max_bytes_per_s", pl.Float64, "bytes/s", "fastest copy that is not small"),
    Column("link_bytes_per_s", pl.Float64, "bytes/s", "nominal rate of the link; null where the device is not known"),
    Column("link_fraction", pl.Float64, "", "bytes_per_s as a share of it"),
)

#: below this a copy's duration is mostly its start-up
SMALL_BYTES = 65_536


def copy_bandwidth(copies: pl.DataFrame, trace_info: TraceInfo | None = None) -> pl.DataFrame:
    """Copies of the whole recording by device, direction and kind of host memory; those of unknown size are left out."""
    by = ["device", "direction", "host_memory"]
    sized = copies.filter(pl.col("bytes") > 0)
    rate = pl.when(pl.col("dur_ns") > 0).then(pl.col("bytes") / pl.col("dur_ns") * 1e9)
    large = pl.col("bytes") >= SMALL_BYTES
    return (
        sized.with_columns(rate=rate)
        .group_by(by)
        .agg(
            pl.col("bytes").sum(),
            count=pl.len().cast(pl.Int64),
            small_count=(~large).sum().cast(pl.Int64),
            total_ns=pl.col("dur_ns").sum(),
            p50_bytes_per_s=pl.col("rate").filter(large).quantile(0.5, "linear"),
            max_bytes_per_s=pl.col("rate").filter(large).max(),
        )
        .join(busy_ns(sized, by), on=by, how="left", nulls_equal=True)
        .with_columns(
            busy_ns=pl.col("busy_ns").fill_null(0),
            bytes_per_s=pl.when(pl.col("total_ns") > 0).then(pl.col("bytes") / pl.col("total_ns") * 1e9),
            link_bytes_per_s=_link(trace_info),
        )
        .with_columns(link_fraction=pl.col("bytes_per_s") / pl.col("link_bytes_per_s"))
        .sort("total_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )


def _link(trace_info: TraceInfo | None) -> pl.Expr:
    hardware = first_device(trace_info)
    if hardware is None:
        return pl.lit(None, dtype=pl.Float64)
    rates = {
        "host-to-device": hardware.host_link_bytes_per_s,
        "device-to-host": hardware.host_link_bytes_per_s,
        "peer-to-peer": hardware.device_link_bytes_per_s,
        # every byte is read and written
        "device-to-device": hardware.memory_bytes_per_s / 2,
    }
    return pl.col("direction").cast(pl.String).replace_strict(rates, default=None, return_dtype=pl.Float64)
