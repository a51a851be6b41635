"""TensorFlow's timeline (tf.compat.v1 RunMetadata): operators by device, where stream lanes hold the device's work."""

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
DEVICE = r"(?i)(?:device:)?gpu:(\d+)"
STREAM = r"/stream:(\d+)"
#: the same work once more, over all streams
ALL_STREAMS = "/stream:all"


def family(phase: str, category: str | None, name: str) -> str:  # noqa: ARG001
    """Family of an event before its lane is known."""
    if phase in ("M", ""):
        return METADATA
    if phase in FLOW_PHASES:
        return "flow_events"
    return "device_events" if phase == "X" else "other_events"


def matches(header: Mapping[str, Any], events: Sequence[Event]) -> float:
    """Processes are named by job and device, or by their role."""
    names = process_names(events)
    named = any(name.startswith("/job:") or name.endswith((" Compute", " Tensors")) for name in names)
    return 0.85 if named and "schemaVersion" not in header else 0.0


def finish(frames: Mapping[str, pl.LazyFrame], quality: QualityLog) -> dict[str, pl.LazyFrame]:  # noqa: ARG001
    """Spans moved to their families by the names of their processes."""
    process, name = pl.col("process_name"), pl.col("name").cast(pl.String)
    lanes = frames["lanes"].collect()["name"].fill_null("")
    by_stream = bool(lanes.str.contains(STREAM).any())
    streams = process.str.contains(STREAM) | (pl.lit(not by_stream) & process.str.contains(ALL_STREAMS, literal=True))
    kind = pl.when(name.str.contains("(?i)memcpy")).then(pl.lit("memcpy")).otherwise(pl.lit("kernel"))
    return divided(
        frames,
        "device_events",
        {
            "device_events": process.str.contains(DEVICE) & streams,
            "other_events": process.str.contains(ALL_STREAMS, literal=True),
            "op_events": process.str.ends_with("Compute"),
        },
        {
            "device_events": [
                kind.cast(pl.Categorical).alias("kind"),
                process.str.extract(DEVICE).cast(pl.Int64).alias("device"),
                process.str.extract(STREAM).cast(pl.Int64).alias("stream"),
            ]
        },
    )


def describe(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:  # noqa: ARG001
    """Its name."""
    return "tensorflow"


PRODUCER = Producer(name="tensorflow", matches=matches, family=family, describe=describe, finish=finish)
