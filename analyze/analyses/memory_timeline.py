"""How much memory was allocated and reserved, over time, on each device and on the host?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._memory_window import allocator_events
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("device_type", pl.Int64, "", "torch device type: 0 host, otherwise a device"),
    Column("device", pl.Int64, "", "device index; -1 for the host"),
    Column("time_ns", pl.Int64, "ns", "time of the event"),
    Column("allocated_bytes", pl.Int64, "bytes", "allocated after it; null where the writer does not say"),
    Column("reserved_bytes", pl.Int64, "bytes", "reserved by the allocator after it; null where the writer does not say"),
    Column("unused_bytes", pl.Int64, "bytes", "reserved and not allocated: cache and fragments"),
    Column("change_bytes", pl.Int64, "bytes", "allocated since the recording began; the level before it is not known from this"),
)


def memory_timeline(memory: pl.DataFrame | None = None, explained: Mapping[str, pl.LazyFrame] | None = None) -> pl.DataFrame:
    """Allocator events in time order per device. Frees of older blocks make change_bytes negative, never a level.

    Where only the explaining window recorded memory, its events are shown, at its times.
    """
    events = allocator_events(memory, explained)
    lane = ["device_type", "device"]
    # a writer without totals writes 0 in every event
    known = (pl.col("reserved_bytes").max().over(lane) > 0) | (pl.col("allocated_bytes").max().over(lane) > 0)
    return (
        events.sort(*lane, "time_ns", "id")
        .with_columns(
            pl.when(known).then(pl.col("allocated_bytes")),
            pl.when(pl.col("reserved_bytes").max().over(lane) > 0).then(pl.col("reserved_bytes")),
            change_bytes=pl.col("bytes").cum_sum().over(lane),
        )
        .with_columns(unused_bytes=pl.col("reserved_bytes") - pl.col("allocated_bytes"))
        .select(column.name for column in COLUMNS)
    )
