"""What do copies cost, by direction and kind of host memory?"""

from __future__ import annotations

import polars as pl

from analyze.intervals import covered_per_window, of_frame, subtract
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("direction", pl.Categorical, "", "host-to-device, device-to-host, device-to-device, peer-to-peer …"),
    Column("host_memory", pl.Categorical, "", "pageable, pinned, unknown; null where no host memory is involved"),
    Column("count", pl.Int64, "", "copies"),
    Column("bytes", pl.Int64, "bytes", "bytes moved; null where not recorded"),
    Column("dur_ns", pl.Int64, "ns", "summed duration"),
    Column("exposed_ns", pl.Int64, "ns", "part of it that no kernel on the device hides"),
    Column("bytes_per_s", pl.Float64, "bytes/s", "bytes divided by summed duration"),
)


def copies_by_kind(copies: pl.DataFrame, kernels: pl.DataFrame | None = None) -> pl.DataFrame:
    """Copies of the whole trace per device, direction and host memory."""
    frames = [copies.head(0).with_columns(exposed_ns=pl.lit(None, dtype=pl.Int64))]
    for device in copies["device"].unique().sort():
        on_device = pl.col("device") == device if device is not None else pl.col("device").is_null()
        mine = copies.filter(on_device)
        bare = of_frame(mine)
        if kernels is not None:
            bare = subtract(bare, of_frame(kernels.filter(on_device)))
        start = mine["start_ns"].to_numpy()
        exposed = covered_per_window(bare, start, start + mine["dur_ns"].to_numpy())
        frames.append(mine.with_columns(exposed_ns=pl.Series(exposed)))
    return (
        pl.concat(frames)
        .group_by("device", "direction", "host_memory")
        .agg(
            count=pl.len().cast(pl.Int64),
            bytes=pl.when(pl.col("bytes").count() > 0).then(pl.col("bytes").sum()),
            dur_ns=pl.col("dur_ns").sum(),
            exposed_ns=pl.col("exposed_ns").sum(),
        )
        .with_columns(bytes_per_s=pl.when(pl.col("dur_ns") > 0).then(pl.col("bytes") / pl.col("dur_ns") * 1e9))
        .sort("dur_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
