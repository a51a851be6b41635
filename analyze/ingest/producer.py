"""What does ingest need to know about a writer of traces?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import polars as pl

    from analyze.ingest.event import Event
    from analyze.ingest.quality import QualityLog

#: not a family of `schema.FAMILIES`: process and thread names, which become `lanes`
METADATA = "metadata"


@dataclass(frozen=True, kw_only=True)
class Producer:
    """One writer of traces: how to recognise it and where its events belong."""

    name: str
    #: 0 where this is certainly not the writer, 1 where it certainly is; the fallback answers a little above 0
    matches: Callable[[Mapping[str, Any], Sequence[Event]], float]
    #: family of an event by phase, category and name; must depend on the name only where `by_name` says so
    family: Callable[[str, str | None, str], str]
    #: phases whose events need the name to find their family
    by_name: frozenset[str] = frozenset({"i", "I", "n"})
    #: family → column → argument keys that may hold it, the usual one first
    arguments: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    #: family → completion of its typed frame (kind of device work, device from the lane …)
    complete: Mapping[str, Callable[[pl.DataFrame], pl.DataFrame]] = field(default_factory=dict)
    #: name with the device kind, from the header and the events seen by category and by runtime call
    describe: Callable[[Mapping[str, Any], Mapping[str, int], Sequence[str]], str]
    #: once all lanes are known: the families that change, from all families; counts what it could not place
    finish: Callable[[Mapping[str, pl.LazyFrame], QualityLog], dict[str, pl.LazyFrame]] | None = None
