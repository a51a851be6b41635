"""Which copies moved data to, from or between devices, and from what kind of host memory."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import TABLES
from analyze.tables._exchanges import exchange_call_ids
from analyze.tables._launched import with_launch

#: name patterns of CUDA, HIP and ROCTracer, first match wins
DIRECTIONS = (
    ("host-to-device", r"(?i)HtoD|HostToDevice|H2D"),
    ("device-to-host", r"(?i)DtoH|DeviceToHost|D2H"),
    ("peer-to-peer", r"(?i)PtoP|PeerToPeer|P2P"),
    ("device-to-device", r"(?i)DtoD|DeviceToDevice|D2D"),
    ("host-to-host", r"(?i)HtoH|HostToHost"),
)


def copies(
    device_events: pl.LazyFrame,
    launches: pl.DataFrame | None = None,
    collectives: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Copies in order of their start, none where the device did other work only; host_memory is null without host memory."""
    work = device_events.filter(pl.col("kind") == "memcpy").drop_nulls("dur_ns").sort("start_ns").collect()
    if work.is_empty() and device_events.head(1).collect().is_empty():
        raise MissingData("the trace holds no device work")
    name = pl.col("name").cast(pl.String)
    direction: pl.Expr = pl.lit("unknown")
    for label, pattern in reversed(DIRECTIONS):
        direction = pl.when(name.str.contains(pattern)).then(pl.lit(label)).otherwise(direction)
    host_memory = (
        pl.when(direction.is_in(["device-to-device", "peer-to-peer"]))
        .then(None)
        .when(name.str.contains("(?i)pageable"))
        .then(pl.lit("pageable"))
        .when(name.str.contains("(?i)pinned"))
        .then(pl.lit("pinned"))
        .otherwise(pl.lit("unknown"))
    )
    labelled = work.with_columns(direction=direction.cast(pl.Categorical), host_memory=host_memory.cast(pl.Categorical))
    launched = with_launch(labelled, launches)
    serving = exchange_call_ids(launches, collectives, cpu_ops)
    launched = launched.with_columns(for_exchange=pl.col("launch_id").is_in(serving.implode()).fill_null(value=False))
    return launched.select(column.name for column in TABLES["copies"])
