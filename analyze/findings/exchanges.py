"""When does a host wait for what ranks exchange over it? It has nothing of its own to do then, and cannot do it sooner."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.intervals import covered_per_window, merge, of_frame, union

if TYPE_CHECKING:
    from analyze.intervals import Spans
    from analyze.replay import Replay


#: a stretch that lies in a collective up to so little was spent on it
WITHIN_SHARE = 0.9


def host_exchanges(collective_calls: pl.DataFrame | None, replay: Replay) -> Spans:
    """Ends of collectives on the host that held this rank up, and stretches without a call that such collectives explain.

    Whoever waits for a collective goes on when it ends, whether or not the device still had work for a part of that time; and
    a thread that carries one out launches nothing until it is done.
    """
    if collective_calls is None:
        return merge([], [])
    on_host = collective_calls.filter(pl.col("stream").is_null()).with_columns(end_ns=pl.col("start_ns") + pl.col("dur_ns"))
    held = on_host.filter(pl.col("blocked_ns") > 0).select(start_ns=pl.col("end_ns") - pl.col("blocked_ns"), dur_ns="blocked_ns")
    start, end = replay.program.gap_spans()
    ends = on_host["end_ns"].sort().to_numpy()
    ended = np.searchsorted(ends, end, side="right") > np.searchsorted(ends, start, side="right")
    during = covered_per_window(of_frame(on_host), start, end) >= WITHIN_SHARE * np.maximum(end - start, 1)
    explained = ended | during
    return union(of_frame(held), merge(start[explained], end[explained]))
