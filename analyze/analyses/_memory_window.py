"""Allocator events, and the operators that ran meanwhile, of the window that recorded them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_RECORDED = "the recording has no memory events (profile_memory=True records them)"


def allocator_events(memory: pl.DataFrame | None, explained: Mapping[str, pl.LazyFrame] | None) -> pl.DataFrame:
    """The trace's own events, else those of the explaining window, with the columns of the memory table that both have."""
    if memory is not None:
        return memory
    if explained is None:
        raise MissingData(NOT_RECORDED)
    renamed = {"start_ns": "time_ns", "total_allocated_bytes": "allocated_bytes", "total_reserved_bytes": "reserved_bytes"}
    events = explained["memory_events"].rename(renamed).sort("time_ns", "id").collect()
    if events.is_empty():
        raise MissingData(NOT_RECORDED)
    return events


def top_operators(
    memory: pl.DataFrame | None, cpu_ops: pl.DataFrame | None, explained: Mapping[str, pl.LazyFrame] | None
) -> pl.DataFrame:
    """Columns name, thread, start_ns, dur_ns, step of the top-level operators in the window of allocator_events()."""
    columns = ["name", "thread", "start_ns", "dur_ns", "step"]
    if memory is not None or explained is None:
        own = pl.DataFrame(schema={"name": pl.Categorical, "thread": pl.Categorical} | dict.fromkeys(columns[2:], pl.Int64))
        return own if cpu_ops is None else cpu_ops.filter(pl.col("depth") == 0).select(columns)
    finish = pl.col("start_ns") + pl.col("dur_ns")
    covered = finish.cum_max().shift(1).over("process", "thread")
    ordered = explained["op_events"].drop_nulls("dur_ns").sort("start_ns", "dur_ns", descending=[False, True])
    top = ordered.filter((pl.col("start_ns") >= covered).fill_null(value=True))
    return top.with_columns(step=pl.lit(None, dtype=pl.Int64)).select(columns).collect()
