"""torch_npu's trace_view.json: a bare list, Kineto's categories on the host, and lanes named for the NPU's units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.ingest.lanes import divided, process_names
from analyze.ingest.producer import Producer
from analyze.ingest.producers.kineto import ARGUMENTS, link
from analyze.ingest.producers.kineto import family as kineto_family

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from analyze.ingest.event import Event
    from analyze.ingest.quality import QualityLog

DEVICE, RUNTIME, HOST = "Ascend Hardware", "CANN", "Python"
COPY = r"(?i)memcpy"
HOST_FAMILIES = ("op_events", "python_events", "annotation_events", "memory_events")


def family(phase: str, category: str | None, name: str) -> str:
    """Family of an event; what Kineto's categories do not tell is looked at by lane."""
    found = kineto_family(phase, category, name)
    return "device_events" if phase == "X" and found not in HOST_FAMILIES else found


def matches(header: Mapping[str, Any], events: Sequence[Event]) -> float:  # noqa: ARG001
    """Processes are named for Huawei's stack."""
    return 0.97 if process_names(events) & {DEVICE, RUNTIME} else 0.0


def finish(frames: Mapping[str, pl.LazyFrame], quality: QualityLog) -> dict[str, pl.LazyFrame]:  # noqa: ARG001
    """Spans moved to their families by the names of their processes."""
    process, thread, name = pl.col("process_name"), pl.col("thread_name"), pl.col("name").cast(pl.String)
    kind = pl.when(name.str.contains(COPY)).then(pl.lit("memcpy")).otherwise(pl.lit("kernel"))
    stream = pl.coalesce(pl.col("stream"), thread.str.extract(r"(?i)^Stream (\d+)").cast(pl.Int64))
    return divided(
        frames,
        "device_events",
        {
            "device_events": process == DEVICE,
            "runtime_events": process == RUNTIME,
            "op_events": process == HOST,
        },
        {"device_events": [kind.cast(pl.Categorical).alias("kind"), stream.alias("stream"), pl.col("device").fill_null(0)]},
    )


def describe(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:  # noqa: ARG001
    """Its name."""
    return "kineto-ascend"


PRODUCER = Producer(
    name="ascend",
    matches=matches,
    family=family,
    arguments={
        **ARGUMENTS,
        "device_events": {
            "device": ("Device Id", "device"),
            "stream": ("Physic Stream Id", "Stream Id", "stream"),
            "correlation": ("connection_id", "correlation"),
        },
    },
    complete={"device_events": lambda frame: frame.with_columns(link("correlation"))},
    describe=describe,
    finish=finish,
)
