"""When did this rank have kernels on its device? Asked where other ranks of the host may run on the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.intervals import clip, merge, of_frame
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("device_uuid", pl.String, "", "device"),
    Column("start_ns", pl.Int64, "ns", "start by this rank's clock"),
    Column("dur_ns", pl.Int64, "ns", "duration; kernels that follow one another at once are one span"),
)

#: between two kernels of a queue that never runs dry lie a few microseconds
QUEUED_NS = 20_000


def device_spans(
    kernels: pl.DataFrame, own_time: pl.DataFrame, rank_state: pl.DataFrame, manifest: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """Kernels of the device that computes most within the first cycle's steps, collectives left out.

    Raises MissingData where the device's id is not known, or the run has one rank on its host.
    """
    uuid = rank_state["device_uuid"][0]
    if uuid is None:
        raise MissingData("the recording does not say which device this is: whether ranks share it is not known")
    if (manifest or {}).get("local_world_size") == 1:
        raise MissingData("the rank is alone on its host")
    computing = kernels.filter(pl.col("kind").cast(pl.String) != "collective")
    busiest = computing.group_by("device").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)["device"][0]
    start = own_time["start_ns"].to_numpy()
    spans = clip(of_frame(computing.filter(pl.col("device") == busiest)), int(start[0]), int(start[-1] + own_time["step_ns"][-1]))
    queued = merge(spans[0], spans[1] + QUEUED_NS)
    # a gap that was closed is part of the span; the last one's tail is not
    end = queued[1] - QUEUED_NS
    return pl.DataFrame({"device_uuid": [uuid] * end.size, "start_ns": queued[0], "dur_ns": end - queued[0]}).select(
        pl.col(column.name).cast(column.dtype) for column in COLUMNS
    )
