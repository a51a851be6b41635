"""What the device side says about synchronisation: who waited for which stream or event."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import TABLES


def syncs(sync_events: pl.LazyFrame, launches: pl.DataFrame | None = None) -> pl.DataFrame:
    """Synchronisation records; they are not work. launch_id and record_launch_id are null where the call is missing."""
    events = sync_events.drop_nulls("dur_ns").sort("start_ns").collect()
    if events.is_empty():
        raise MissingData("the trace was recorded without synchronisation records")
    calls = (
        pl.DataFrame(schema={"correlation": pl.Int64, "id": pl.Int64})
        if launches is None
        else launches.drop_nulls("correlation").unique("correlation", keep="none").select("correlation", "id")
    )
    linked = events.join(calls.rename({"id": "launch_id"}), on="correlation", how="left").join(
        calls.rename({"id": "record_launch_id", "correlation": "wait_on_record_correlation"}),
        on="wait_on_record_correlation",
        how="left",
    )
    return linked.sort("start_ns").select(column.name for column in TABLES["syncs"])
