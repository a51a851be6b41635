"""Runs of several ranks, written by what each did before its collectives. Times are in µs.

Every rank computes, then all-reduces at the end of the step; the collective ends on all ranks when the last has come and the transfer
is over. `offset` shifts a rank's clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.analyses.collective_calls import COLUMNS as CALLS
from analyze.analyses.device_spans import COLUMNS as SPANS
from analyze.analyses.own_time import COLUMNS as OWN
from analyze.analyses.rank_state import COLUMNS as STATE
from analyze.engine import Together
from analyze.schema import Column
from tests.builders import frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.builders import Row

US = 1_000
RANK = Column("rank", pl.Int64, "", "rank")
PARTS = ("compute", "copy", "input_wait", "gc", "host")


def calls(*rows: Row) -> pl.DataFrame:
    """Stacked collective_calls; a row needs rank, step, start_ns, dur_ns."""
    defaults = {"kind": "all-reduce", "turn": 0, "bytes": 1 << 20, "stream": 20, "exposed_ns": 0, "blocked_ns": 0}
    return frame((*CALLS, RANK), *(defaults | row for row in rows))


def own(*rows: Row) -> pl.DataFrame:
    """Stacked own_time."""
    defaults = {f"{part}_ns": 0 for part in (*PARTS, "blocked")} | {"kernel_count": 10}
    return frame((*OWN, RANK), *(defaults | row for row in rows))


def training(
    parts: Mapping[int, Sequence[Mapping[str, float]]],
    *,
    transfer: float = 10.0,
    offsets: Mapping[int, float] | None = None,
    begin: Mapping[int, float] | None = None,
    devices: Mapping[int, str] | None = None,
    more: Mapping[str, pl.DataFrame] | None = None,
) -> Together:
    """A workspace of ranks whose steps took these parts (µs by name, per step, in this order) before one all-reduce each.

    begin is when each rank's first step began, where they did not begin together; devices are the ids of those they ran on.
    """
    ranks = sorted(parts)
    now = {rank: (begin or {}).get(rank, 0.0) for rank in ranks}
    offsets = offsets or {}
    rows: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for step in range(len(parts[ranks[0]])):
        arrival = {rank: now[rank] + sum(parts[rank][step].values()) for rank in ranks}
        end = max(arrival.values()) + transfer
        for rank in ranks:
            shift = offsets.get(rank, 0.0)
            held = round((end - arrival[rank]) * US)
            start = round((arrival[rank] + shift) * US)
            times = {"start_ns": start, "dur_ns": held, "exposed_ns": held, "blocked_ns": held}
            rows.append({"rank": rank, "step": step, **times})
            given = {f"{part}_ns": round(ns * US) for part, ns in parts[rank][step].items()}
            if devices is not None:
                names = list(parts[rank][step])
                began = now[rank] + shift + sum(parts[rank][step][name] for name in names[: names.index("compute")])
                took = {"start_ns": round(began * US), "dur_ns": given["compute_ns"]}
                spans.append({"rank": rank, "device_uuid": devices[rank], **took})
            steps.append(
                {
                    "rank": rank, "step": step, "start_ns": round((now[rank] + shift) * US), "blocked_ns": held,
                    "step_ns": round((end - now[rank]) * US), "own_ns": round((arrival[rank] - now[rank]) * US), **given,
                }
            )  # fmt: skip
        now = dict.fromkeys(ranks, end)
    known = {"collective_calls": calls(*rows), "own_time": own(*steps)}
    if devices is not None:
        ran = ({"rank": rank, "host": "a", "device_uuid": device, "device_name": "a card"} for rank, device in devices.items())
        known |= {"device_spans": frame((*SPANS, RANK), *spans), "rank_state": frame((*STATE, RANK), *ran)}
    return Together({**known, **(more or {})})
