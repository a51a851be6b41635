"""Which device calls serve a collective on the host: they bring to it what it exchanges, and take the result back?"""

from __future__ import annotations

import polars as pl

#: asks for a collective and returns at once; copies to the host are started within it
REQUEST = r"^c10d::"
LANE = ["_process", "_thread"]


def exchange_call_ids(launches: pl.DataFrame | None, collectives: pl.DataFrame | None, cpu_ops: pl.DataFrame | None) -> pl.Series:
    """Ids of calls that began within a host collective, or within a request for one, on the same thread."""
    nothing = pl.Series("id", [], dtype=pl.Int64)
    on_host = None if collectives is None else collectives.filter(pl.col("device").is_null())
    if launches is None or on_host is None or on_host.is_empty():
        return nothing
    spans = [_spans(on_host)]
    if cpu_ops is not None:
        spans.append(_spans(cpu_ops.filter(pl.col("name").cast(pl.String).str.contains(REQUEST))))
    calls = _spans(launches.filter(pl.col("work_count") > 0)).with_columns(id=launches.filter(pl.col("work_count") > 0)["id"])
    around = pl.concat(spans).sort("start_ns")
    placed = calls.sort("start_ns").join_asof(around, on="start_ns", by=LANE, check_sortedness=False, suffix="_around")
    return placed.filter(pl.col("start_ns") < pl.col("until_around"))["id"]


def _spans(events: pl.DataFrame) -> pl.DataFrame:
    lanes = [pl.col(name).cast(pl.String).alias(f"_{name}") for name in ("process", "thread")]
    return events.select(*lanes, "start_ns", until=pl.col("start_ns") + pl.col("dur_ns"))
