"""When was a rank held up by collectives?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.intervals import merge

if TYPE_CHECKING:
    import polars as pl

    from analyze.intervals import Spans


def blocked_spans(collective_calls: pl.DataFrame | None, *, on_host_only: bool = False) -> Spans:
    """The blocked end of each call; with on_host_only, of those that no device runs."""
    if collective_calls is None:
        return merge([], [])
    calls = collective_calls.filter(collective_calls["stream"].is_null()) if on_host_only else collective_calls
    end = (calls["start_ns"] + calls["dur_ns"]).to_numpy()
    return merge(end - calls["blocked_ns"].to_numpy(), end)
