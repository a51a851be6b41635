"""How many launches are waiting on each stream, over time?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("stream", pl.Int64, "", "stream"),
    Column("time_ns", pl.Int64, "ns", "time of the change"),
    Column("length", pl.Int64, "", "launches issued whose work has not started, from here on; never negative"),
    Column("dur_ns", pl.Int64, "ns", "how long it stays so; null for a stream's last change"),
)


def queue_length(launches: pl.DataFrame, kernels: pl.DataFrame, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """Changes of each stream's queue. A launch waits from its call's start to the start of its first work.

    Work whose launch is not in the recording is not counted; queue_summary says how much that is.
    """
    begun = launches.select(launch_id="id", launched_ns="start_ns")
    waits = (
        device_work(kernels, copies)
        .group_by("launch_id", maintain_order=True)
        .agg(pl.col("device", "stream", "start_ns").first())
        .join(begun, on="launch_id")
    )
    if waits.is_empty():
        raise MissingData("no device work can be traced back to its launch")
    # clocks of host and device differ a little: work never starts before its launch
    started = pl.max_horizontal("start_ns", "launched_ns")
    change = pl.concat(
        [
            waits.select("device", "stream", time_ns="launched_ns", change=pl.lit(1)),
            waits.select("device", "stream", time_ns=started, change=pl.lit(-1)),
        ]
    )
    lane = ["device", "stream"]
    return (
        change.group_by(*lane, "time_ns")
        .agg(pl.col("change").sum().cast(pl.Int64))
        .filter(pl.col("change") != 0)
        .sort(*lane, "time_ns")
        .with_columns(
            length=pl.col("change").cum_sum().over(lane),
            dur_ns=pl.col("time_ns").shift(-1).over(lane) - pl.col("time_ns"),
        )
        .select(column.name for column in COLUMNS)
    )
