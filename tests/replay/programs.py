"""Programs written call by call, so that a test shows what the host does and what it starts.

Calls have the ids 100, 101 …, work the ids 1000, 1001 …, in their order. Recorded times follow from gaps and costs: the
recording that the program was built from is the one in which nothing had to wait.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyze.replay.program import NOTHING, Program
from analyze.replay.replay import Replay
from analyze.replay.simulate import simulate


@dataclass(frozen=True, kw_only=True)
class Work:
    """One item of device work: ns, stream, delay after its call began, spacing, awaited work on another stream."""

    dur: float
    stream: int = 0
    latency: float = 0.0
    spacing: float = 0.0
    depends: int = NOTHING
    keep: bool = True


@dataclass(frozen=True, kw_only=True)
class Call:
    """One host call: time before it, its own, what it starts, what it waits for, its own time after the wait."""

    gap: float = 0.0
    cost: float = 0.0
    work: tuple[Work, ...] = ()
    waits: int = NOTHING
    wake: float = 0.0
    gap_events: int = 0
    call_events: int = 0


def program(*calls: Call, steps: int = 1) -> Program:
    """The calls as a program, with the empty call at its end that stands for the window's tail."""
    every = [*calls, Call()]
    work = [(index, one) for index, call in enumerate(every) for one in call.work]
    ends = np.cumsum([call.gap + call.cost for call in every]).astype(np.int64)
    begins = ends - np.array([call.cost for call in every]).astype(np.int64)
    floats = {
        name: np.array([getattr(call, name) for call in every], dtype=np.float64)
        for name in ("gap", "gap_events", "cost", "wake", "call_events")
    }
    return Program(
        **floats,
        waits=np.array([call.waits for call in every], dtype=np.int64),
        call_id=np.array([*range(100, 100 + len(calls)), -1], dtype=np.int64),
        call_start=begins,
        gap_start=np.concatenate([[0], ends[:-1]]).astype(np.int64),
        work_call=np.array([index for index, _ in work], dtype=np.int64),
        work_dur=np.array([one.dur for _, one in work], dtype=np.float64),
        latency=np.array([one.latency for _, one in work], dtype=np.float64),
        spacing=np.array([one.spacing for _, one in work], dtype=np.float64),
        work_stream=np.array([one.stream for _, one in work], dtype=np.int64),
        depends=np.array([one.depends for _, one in work], dtype=np.int64),
        work_id=np.arange(1000, 1000 + len(work), dtype=np.int64),
        work_keep=np.array([one.keep for _, one in work], dtype=np.bool_),
        streams=max((one.stream for _, one in work), default=-1) + 1,
        steps=steps,
        start_ns=0,
        end_ns=int(ends[-1]),
    )


def replay_of(built) -> Replay:
    step_ns = simulate(built).step_ns
    return Replay(
        program=built, step_ns=step_ns, profiled_step_ns=step_ns, event_cost_ns=(0.0, 0.0, 0.0), shown_event_cost_ns=0.0,
        baseline_known=True, threads=(("1", "1"),),
    )  # fmt: skip
