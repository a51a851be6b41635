"""When is most memory allocated, and which operators hold it then?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._memory_window import allocator_events, top_operators
from analyze.nesting import innermost, nest
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("device_type", pl.Int64, "", "torch device type: 0 host, otherwise a device"),
    Column("device", pl.Int64, "", "device index; -1 for the host"),
    Column("time_ns", pl.Int64, "ns", "time of the peak"),
    Column("peak_bytes", pl.Int64, "bytes", "allocated at the peak; null where the level before the recording is unknown"),
    Column("reserved_bytes", pl.Int64, "bytes", "reserved at the peak; null where unknown"),
    Column("held_by", pl.String, "", "top-level operator that allocated; 'no operator'; 'before the recording'"),
    Column("bytes", pl.Int64, "bytes", "held at the peak"),
    Column("blocks", pl.Int64, "", "blocks; null for what was allocated before the recording"),
    Column("step", pl.Int64, "", "step in which they were allocated; null outside steps"),
)

BEFORE = "before the recording"


def memory_peak(
    memory_timeline: pl.DataFrame,
    memory: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    explained: Mapping[str, pl.LazyFrame] | None = None,
) -> pl.DataFrame:
    """Per device, what is alive at its peak, by operator and step, the largest holder first."""
    lane = ["device_type", "device"]
    level = pl.coalesce("allocated_bytes", "change_bytes")
    peaks = (
        memory_timeline.sort("time_ns")
        .filter((level == level.max().over(lane)).fill_null(value=False))
        .unique(lane, keep="first", maintain_order=True)
        .select(*lane, "time_ns", "reserved_bytes", peak_bytes="allocated_bytes")
    )
    blocks = _alive(allocator_events(memory, explained), peaks, lane)
    held = (
        _with_holder(blocks, top_operators(memory, cpu_ops, explained))
        .group_by(*lane, "held_by", "step")
        .agg(pl.col("bytes").sum(), blocks=pl.len().cast(pl.Int64))
    )
    known = peaks.join(held.group_by(lane).agg(seen=pl.col("bytes").sum()), on=lane, how="left")
    before = known.select(
        *lane,
        held_by=pl.lit(BEFORE),
        step=pl.lit(None, dtype=pl.Int64),
        bytes=pl.col("peak_bytes") - pl.col("seen").fill_null(0),
        blocks=pl.lit(None, dtype=pl.Int64),
    ).filter(pl.col("bytes") > 0)
    return (
        pl.concat([held, before.select(held.columns)])
        .join(peaks, on=lane)
        .sort(*lane, "bytes", descending=[False, False, True])
        .select(column.name for column in COLUMNS)
    )


def _alive(memory: pl.DataFrame, peaks: pl.DataFrame, lane: list[str]) -> pl.DataFrame:
    """Allocations up to the peak whose address is not freed again before it."""
    until = memory.join(peaks.select(*lane, peak_ns="time_ns"), on=lane).filter(pl.col("time_ns") <= pl.col("peak_ns"))
    last = until.sort("time_ns", "id").unique([*lane, "address"], keep="last", maintain_order=True)
    return last.filter(pl.col("bytes") > 0)


def _with_holder(blocks: pl.DataFrame, top: pl.DataFrame) -> pl.DataFrame:
    """Add the top-level operator running on the allocating thread, and its step."""
    if top.is_empty():
        return blocks.with_columns(held_by=pl.lit("no operator"), step=pl.lit(None, dtype=pl.Int64))
    lanes = pl.concat([top.select("thread"), blocks.select("thread")]).unique(maintain_order=True).with_row_index("lane")
    lane_of = [
        frame.join(lanes, on="thread", how="left", maintain_order="left", nulls_equal=True)["lane"].cast(pl.Int64).to_numpy()
        for frame in (top.select("thread"), blocks.select("thread"))
    ]
    nesting = nest(lane_of[0], top["start_ns"].to_numpy(), top["dur_ns"].to_numpy())
    row = pl.Series(innermost(nesting, lane_of[1], blocks["time_ns"].to_numpy()))
    name = top["name"].cast(pl.String).gather(row.clip(lower_bound=0))
    step = top["step"].gather(row.clip(lower_bound=0))
    return blocks.with_columns(
        held_by=name.zip_with(row >= 0, pl.Series(["no operator"])),
        step=step.zip_with(row >= 0, pl.Series([None], dtype=pl.Int64)),
    )
