"""Which rank, cycle and window is each trace: by what it says itself, by the manifest, by its file name?"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from analyze.ingest.recording import Trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from analyze.ingest.parsed import Parsed
    from analyze.ingest.sources import Source
    from analyze.ingest.temporary import TemporaryFolder

RANK = re.compile(r"(?:^|[^a-z])(?:rank|worker)[-_]?(\d+)(?!\d)", re.IGNORECASE)
WINDOW = re.compile(r"\.(times|explanations)(?:\.(\d+))?\.")

Window = Literal["times", "explanations"]


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """One trace that was read, before its place among the others is known."""

    source: Source
    parsed: Parsed
    frames: Mapping[str, pl.LazyFrame]
    data_quality: pl.DataFrame


def identified(
    loaded: Sequence[Loaded], manifests: Mapping[int, Mapping[str, Any]], folder: TemporaryFolder
) -> tuple[Trace, ...]:
    """Traces in order of rank, cycle and window."""
    cycles = _cycles(loaded)
    traces = [_trace(each, manifests, cycle, folder) for each, cycle in zip(loaded, cycles, strict=True)]
    return tuple(sorted(traces, key=lambda each: (each.rank is None, each.rank or 0, each.cycle, each.window or "", each.path)))


def _trace(loaded: Loaded, manifests: Mapping[int, Mapping[str, Any]], cycle: int, folder: TemporaryFolder) -> Trace:
    info, name = loaded.parsed.info(), loaded.source.name
    rank = info.rank if info.rank is not None else rank_of_name(name)
    return Trace(
        name=name,
        path=loaded.source.path,
        rank=rank,
        cycle=cycle,
        window=window_of(name, manifests),
        info=replace(info, rank=rank),
        frames=loaded.frames,
        data_quality=loaded.data_quality,
        folder=folder,
    )


def rank_of_name(name: str) -> int | None:
    """Rank as the file name gives it: rank-34, rank3, worker0, w_rank3; None where it gives none."""
    found = RANK.search(name)
    return int(found[1]) if found else None


def window_of(name: str, manifests: Mapping[int, Mapping[str, Any]]) -> Window | None:
    """Window of a trace, from the manifest, else from the file name."""
    for manifest in manifests.values():
        for window in manifest.get("windows") or ():
            if isinstance(window, dict) and window.get("trace") == name and window.get("name") in ("times", "explanations"):
                return "times" if window["name"] == "times" else "explanations"
    found = WINDOW.search(name)
    if found is None:
        return None
    return "times" if found[1] == "times" else "explanations"


def _cycles(loaded: Sequence[Loaded]) -> list[int]:
    """Cycle by the file name; loose traces of one rank are numbered by the time at which they were taken."""
    numbers = [0] * len(loaded)
    alike: dict[int, list[int]] = {}
    for index, each in enumerate(loaded):
        found = WINDOW.search(each.source.name)
        rank = each.parsed.info().rank
        rank = rank if rank is not None else rank_of_name(each.source.name)
        if found:
            numbers[index] = int(found[2] or 0)
        elif rank is not None:
            alike.setdefault(rank, []).append(index)
    for members in alike.values():
        members.sort(key=lambda index: (loaded[index].parsed.reference_ns or 0) + loaded[index].parsed.shift_ns)
        for number, index in enumerate(members):
            numbers[index] = number
    return numbers
