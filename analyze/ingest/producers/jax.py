"""JAX and XLA through the TensorBoard profiler: no categories; what an event is, its lane's name says.

Processes are '/host:CPU' and '/device:GPU:0'; a GPU's threads are 'Stream #13(compute)', a TPU's 'XLA Ops', 'Steps' …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.ingest.lanes import divided, process_names
from analyze.ingest.producer import METADATA, Producer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from analyze.ingest.event import Event
    from analyze.ingest.quality import QualityLog

FLOW_PHASES = frozenset("stf")
DEVICE = r"^/device:\w+:(\d+)"
STREAM = r"^Stream #(\d+)"
#: lanes of a TPU core whose spans are work; its other lanes repeat them at other levels
TPU_WORK = ("XLA Ops", "Async XLA Ops")


def family(phase: str, category: str | None, name: str) -> str:  # noqa: ARG001
    """Family of an event before its lane is known; the file's last event is often empty."""
    if phase in ("M", ""):
        return METADATA
    if phase in FLOW_PHASES:
        return "flow_events"
    return "device_events" if phase == "X" else "other_events"


def matches(header: Mapping[str, Any], events: Sequence[Event]) -> float:
    """Processes are named as nowhere else."""
    named = any(name.startswith(("/device:", "/host:")) for name in process_names(events))
    return 0.8 if named and "schemaVersion" not in header else 0.0


def finish(frames: Mapping[str, pl.LazyFrame], quality: QualityLog) -> dict[str, pl.LazyFrame]:  # noqa: ARG001
    """Spans moved to their families by the names of their lanes."""
    process, thread, name = pl.col("process_name"), pl.col("thread_name"), pl.col("name").cast(pl.String)
    on_device = process.str.contains(DEVICE)
    works = thread.str.contains(STREAM) | thread.is_in(TPU_WORK)
    kind = pl.when(name.str.contains("(?i)memcpy")).then(pl.lit("memcpy"))
    kind_of = kind.when(name.str.contains("(?i)memset")).then(pl.lit("memset")).otherwise(pl.lit("kernel"))
    device = process.str.extract(DEVICE).cast(pl.Int64).alias("device")
    stream = thread.str.extract(STREAM).cast(pl.Int64).alias("stream")
    return divided(
        frames,
        "device_events",
        {
            "device_events": on_device & works,
            "annotation_events": on_device,
            "python_events": name.str.starts_with("$"),
            "op_events": process.str.starts_with("/host:"),
        },
        {
            "device_events": [kind_of.cast(pl.Categorical).alias("kind"), device, stream],
            "annotation_events": [pl.lit(value=True).alias("on_device"), device],
        },
    )


def describe(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:  # noqa: ARG001
    """Its name."""
    return "jax"


PRODUCER = Producer(
    name="jax",
    matches=matches,
    family=family,
    describe=describe,
    arguments={"device_events": {"correlation": ("correlation_id",), "bytes": ("bytes_accessed", "num_bytes")}},
    finish=finish,
)
