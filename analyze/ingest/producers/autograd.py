"""torch.autograd.profiler before Kineto (up to torch 1.8): a bare list whose processes are 'CPU' and 'CUDA functions'."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.ingest.lanes import divided
from analyze.ingest.producer import METADATA, Producer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from analyze.ingest.event import Event
    from analyze.ingest.quality import QualityLog

HOST, DEVICE = "cpu functions", "cuda functions"
FLOW_PHASES = frozenset("stf")


def family(phase: str, category: str | None, name: str) -> str:  # noqa: ARG001
    """Family of an event before the process is looked at."""
    if phase in ("M", ""):
        return METADATA
    if phase in FLOW_PHASES:
        return "flow_events"
    return "op_events" if phase == "X" else "other_events"


def matches(header: Mapping[str, Any], events: Sequence[Event]) -> float:
    """Nobody else names processes so."""
    named = any(str(event.pid).lower() in (HOST, DEVICE) for event in events)
    return 0.95 if named and "schemaVersion" not in header else 0.0


def finish(frames: Mapping[str, pl.LazyFrame], quality: QualityLog) -> dict[str, pl.LazyFrame]:  # noqa: ARG001
    """Device spans moved out of the operators; the thread is the device's number, and streams are not recorded."""
    process, name = pl.col("process").cast(pl.String).str.to_lowercase(), pl.col("name").cast(pl.String)
    kind = pl.when(name.str.contains("(?i)memcpy")).then(pl.lit("memcpy"))
    kind_of = kind.when(name.str.contains("(?i)memset")).then(pl.lit("memset")).otherwise(pl.lit("kernel"))
    device = pl.col("thread").cast(pl.String).str.extract(r"(\d+)$").cast(pl.Int64)
    return divided(
        frames,
        "op_events",
        {"device_events": process == DEVICE, "op_events": pl.lit(value=True)},
        {"device_events": [kind_of.cast(pl.Categorical).alias("kind"), device.alias("device")]},
    )


def describe(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:  # noqa: ARG001
    """Its name."""
    return "autograd"


PRODUCER = Producer(name="autograd", matches=matches, family=family, describe=describe, finish=finish)
