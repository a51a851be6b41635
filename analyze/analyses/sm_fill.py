"""Do kernels launch enough blocks to fill the device?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("name", pl.Categorical, "", "kernel"),
    Column("kind", pl.Categorical, "", "kind of kernel"),
    Column("count", pl.Int64, "", "launches with a known grid"),
    Column("total_ns", pl.Int64, "ns", "their summed duration"),
    Column("blocks", pl.Float64, "", "median blocks of a launch"),
    Column("threads_per_block", pl.Float64, "", "median threads of a block"),
    Column("fill_fraction", pl.Float64, "", "multiprocessors with at least one block, time-weighted: an upper bound; 1 is full"),
    Column(
        "occupancy_percent", pl.Float64, "%", "estimated achieved occupancy as written, time-weighted; null where not recorded"
    ),
    Column("underfilled_ns", pl.Int64, "ns", "time in launches with fewer blocks than multiprocessors"),
)


def sm_fill(kernels: pl.DataFrame, trace_info: TraceInfo) -> pl.DataFrame:
    """Kernels with a known grid by name, most underfilled time first. A busy device may still be mostly empty."""
    known = {device.index: device.multiprocessors for device in trace_info.devices if device.multiprocessors}
    multiprocessors = pl.col("device").replace_strict(known, default=None, return_dtype=pl.Int64)
    # blocks_per_sm is written to a few digits only; it stands in where the header does not describe the device
    fill = pl.coalesce(pl.col("blocks") / multiprocessors, pl.col("blocks_per_sm")).clip(upper_bound=1.0)
    measured = kernels.with_columns(fill=fill).drop_nulls(["blocks", "fill"])
    if measured.is_empty():
        raise MissingData("the trace does not say how many blocks its kernels launch, or on how many multiprocessors")
    total = pl.col("dur_ns").sum()
    weighted = pl.col("occupancy_percent") * pl.col("dur_ns")
    described = pl.col("dur_ns").filter(pl.col("occupancy_percent").is_not_null()).sum()
    return (
        measured.group_by("device", "name", "kind")
        .agg(
            pl.col("blocks").median(),
            pl.col("threads_per_block").median(),
            count=pl.len().cast(pl.Int64),
            total_ns=total,
            fill_fraction=pl.when(total > 0).then((pl.col("fill") * pl.col("dur_ns")).sum() / total),
            occupancy_percent=pl.when(described > 0).then(weighted.sum() / described),
            underfilled_ns=pl.col("dur_ns").filter(pl.col("fill") < 1).sum(),
        )
        .sort("underfilled_ns", "total_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
