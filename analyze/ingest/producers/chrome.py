"""Any other trace in Chrome's event format: spans are kept with their lanes, and nothing is claimed about devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.ingest.producer import METADATA, Producer
from analyze.ingest.spans import paired

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from analyze.ingest.event import Event

FLOW_PHASES = frozenset("stf")


def family(phase: str, category: str | None, name: str) -> str:  # noqa: ARG001
    """Family of an event: names of lanes, flows, and everything else."""
    if phase in ("M", ""):
        return METADATA
    return "flow_events" if phase in FLOW_PHASES else "other_events"


def matches(header: Mapping[str, Any], events: Sequence[Event]) -> float:  # noqa: ARG001
    """Takes whatever nobody else recognises."""
    return 0.1


def describe(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:  # noqa: ARG001
    """Name of the writer, where the file gives one."""
    return "viztracer" if "viztracer_metadata" in header else "chrome"


PRODUCER = Producer(name="chrome", matches=matches, family=family, describe=describe, by_name=frozenset(), finish=paired)
