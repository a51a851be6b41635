"""How long after its launch did work start, and was it worth the call?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("launch_id", pl.Int64, "", "launching call"),
    Column("name", pl.Categorical, "", "launching call's name"),
    Column("step", pl.Int64, "", "step in which it was launched"),
    Column("device", pl.Int64, "", "device of the first work it started"),
    Column("stream", pl.Int64, "", "stream of the first work it started"),
    Column("start_ns", pl.Int64, "ns", "start of the call"),
    Column("call_ns", pl.Int64, "ns", "duration of the call"),
    Column("work_count", pl.Int64, "", "work items it started; many for a graph"),
    Column("work_ns", pl.Int64, "ns", "summed duration of that work"),
    Column("delay_ns", pl.Int64, "ns", "from the end of the call to the start of its first work, not below 0"),
    Column("profiler_overhead", pl.Boolean, "", "the profiler's own buffer handling inflated the call"),
)


def launch_delay(launches: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per call that started work: kernels, memsets and copies, whatever interface launched them."""
    work = device_work(kernels, copies).drop_nulls("launch_id")
    if work.is_empty():
        raise MissingData("no device work can be traced back to its launch")
    started = work.group_by("launch_id", maintain_order=True).agg(
        pl.col("device").first(),
        pl.col("stream").first(),
        work_count=pl.len().cast(pl.Int64),
        work_ns=pl.col("dur_ns").sum(),
        first_ns=pl.col("start_ns").first(),
    )
    end = pl.col("start_ns") + pl.col("dur_ns")
    return (
        launches.drop("work_count")
        .rename({"id": "launch_id"})
        .join(started, on="launch_id", maintain_order="left")
        .with_columns(call_ns="dur_ns", delay_ns=(pl.col("first_ns") - end).clip(lower_bound=0))
        .select(column.name for column in COLUMNS)
    )
