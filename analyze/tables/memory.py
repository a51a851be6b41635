"""What the allocators handed out and took back."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import TABLES


def memory(memory_events: pl.LazyFrame) -> pl.DataFrame:
    """Allocator events in time order; host and device rows are told apart by device_type."""
    events = memory_events.sort("start_ns", "id").collect()
    if events.is_empty():
        raise MissingData("the trace was recorded without memory events (profile_memory=True records them)")
    return events.select(
        "id",
        pl.col("start_ns").alias("time_ns"),
        "device_type",
        "device",
        "bytes",
        "address",
        pl.col("total_allocated_bytes").alias("allocated_bytes"),
        pl.col("total_reserved_bytes").alias("reserved_bytes"),
        "thread",
    ).select(column.name for column in TABLES["memory"])
