"""When could each collective on the host have begun: when it was asked for, and what it exchanges had come from the device?"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("id", pl.Int64, "", "event id of the collective"),
    Column("ready_ns", pl.Int64, "ns", "when it could have begun, had no other collective kept its thread busy"),
)

#: asks for a collective and returns at once; a thread of the communication library does the work
REQUEST = r"^c10d::"
LANE = ["_process", "_thread"]


def host_collective_requests(
    collectives: pl.DataFrame,
    steps: pl.DataFrame,
    cpu_ops: pl.DataFrame,
    copies: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """By order: requests are served first come, first served. Steps with other numbers of both are left out.

    Raises MissingData where no collective on the host has a request.
    """
    requests = cpu_ops.filter(pl.col("name").cast(pl.String).str.contains(REQUEST)).sort("start_ns")
    requests = requests.with_columns(ready_ns=pl.col("start_ns") + pl.col("dur_ns"))
    if copies is not None and launches is not None:
        requests = _copied(requests, copies, launches)
    turn = ["began", "turn", "turns"]
    calls = _in_step(collectives.filter(pl.col("device").is_null()), steps)
    found = calls.join(_in_step(requests, steps).select(*turn, "ready_ns"), on=turn, maintain_order="left")
    if found.is_empty():
        raise MissingData("no request was recorded for the collectives on the host")
    return found.select(column.name for column in COLUMNS)


def _in_step(events: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Events that begin within a step, with their turn in it and how many there are."""
    bounds = steps.sort("start_ns").select("start_ns", began="step", until=pl.col("start_ns") + pl.col("dur_ns"))
    placed = (
        events.sort("start_ns").join_asof(bounds, on="start_ns", strategy="backward").filter(pl.col("start_ns") < pl.col("until"))
    )
    return placed.with_columns(turn=pl.int_range(pl.len()).over("began"), turns=pl.len().over("began"))


def _copied(requests: pl.DataFrame, copies: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """Requests, ready when the last copy to the host that they started has ended."""
    lanes = [pl.col(name).cast(pl.String).alias(f"_{name}") for name in ("process", "thread")]
    fetched = copies.filter(pl.col("direction") == "device-to-host").select(
        "launch_id", end_ns=pl.col("start_ns") + pl.col("dur_ns")
    )
    calls = launches.join(fetched, left_on="id", right_on="launch_id", how="inner").select(*lanes, "start_ns", "end_ns")
    spans = requests.select(*lanes, "start_ns", "id", _until="ready_ns").sort("start_ns")
    within = calls.sort("start_ns").join_asof(spans, on="start_ns", by=LANE, check_sortedness=False)
    last = within.filter(pl.col("start_ns") < pl.col("_until")).group_by("id").agg(pl.col("end_ns").max())
    known = requests.join(last, on="id", how="left", maintain_order="left")
    return known.with_columns(ready_ns=pl.max_horizontal("ready_ns", "end_ns"))
