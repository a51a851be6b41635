"""Who wrote this trace, and which of its categories mean what? One file per writer, found by walking this package."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from analyze.ingest.event import Event
    from analyze.ingest.producer import Producer


#: events at either end by which a writer is recognised: lanes are named at the beginning or at the end
SHOWN_EVENTS = 500


@functools.cache
def producers() -> tuple[Producer, ...]:
    """Every producer of this package, by name."""
    modules = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    return tuple(sorted((module.PRODUCER for module in modules), key=lambda each: each.name))


def recognise(header: Mapping[str, Any], events: Sequence[Event]) -> Producer:
    """Return the producer surest that it wrote this header and these events from either end of the first chunk."""
    return max(producers(), key=lambda each: each.matches(header, events))


def named(name: str) -> Producer:
    """Return the producer of this name."""
    return next(each for each in producers() if each.name == name)
