"""Playing a program forward.

Between two waits the host is a running sum and each stream a Lindley recursion, end = max(launched, previous end + spacing)
+ duration, which is a running maximum once the summed durations are taken off. So a run of calls without a wait costs a
few vector operations, whatever its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from analyze.replay.program import EVERYTHING, NOTHING

if TYPE_CHECKING:
    from analyze.replay.program import Floats, Ints, Program

#: the window is played this often; the last pass is in steady state
PASSES = 2
#: runs shorter than this many calls, on average, are faster one call at a time
SHORT_RUN = 40


@dataclass(frozen=True)
class Played:
    """Result of one replay: mean step time and, for the last pass, when things happened (ns from its first pass)."""

    step_ns: float
    gap_begin: Floats
    call_begin: Floats
    call_end: Floats
    work_start: Floats
    work_end: Floats
    pass_begin: float
    pass_end: float


def simulate(program: Program, event_cost_ns: float = 0.0) -> Played:
    """Replay with this much host time taken off per event that the profiler recorded."""
    gap, cost = _host_times(program, event_cost_ns)
    runs = _runs(program)
    stepwise = len(runs) * SHORT_RUN > gap.size
    host, free = 0.0, np.full(max(program.streams, 1), -np.inf)
    finish = 0.0
    for _ in range(PASSES):
        begin = finish
        state = _Pass(program, gap, cost, host, free)
        if stepwise:
            state.play_stepwise()
        else:
            for first, last in runs:
                state.play(first, last)
        host, finish = state.host, max(state.host, float(free.max(initial=state.host)))
    return Played(
        step_ns=(finish - begin) / program.steps,
        gap_begin=state.call_begin - gap,
        call_begin=state.call_begin,
        call_end=state.call_end,
        work_start=state.work_start,
        work_end=state.work_end,
        pass_begin=begin,
        pass_end=finish,
    )


def host_time_ns(program: Program, event_cost_ns: float = 0.0) -> float:
    """What the host spends in the window, its waits left out."""
    gap, cost = _host_times(program, event_cost_ns)
    return float(gap.sum() + cost.sum())


def _host_times(program: Program, event_cost_ns: float) -> tuple[Floats, Floats]:
    gap = np.maximum(program.gap - event_cost_ns * program.gap_events, 0.0)
    return gap, np.maximum(program.cost - event_cost_ns * program.call_events, 0.0)


def _runs(program: Program) -> list[tuple[int, int]]:
    """Call ranges [first, last] without a wait or a dependency inside; a wait ends one, a dependency begins one."""
    count = program.gap.size
    ends = np.flatnonzero(program.waits != NOTHING) + 1
    begins = program.work_call[(program.depends != NOTHING) & program.work_keep]
    cuts = np.unique(np.concatenate([[0], ends, begins, [count]]))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


class _Pass:
    """One pass over the window: the host clock, and when each stream becomes free (shared between passes)."""

    def __init__(self, program: Program, gap: Floats, cost: Floats, host: float, free: Floats) -> None:
        self.program, self.gap, self.cost, self.host, self.free = program, gap, cost, host, free
        self.call_begin = np.zeros(gap.size)
        self.call_end = np.zeros(gap.size)
        self.work_start = np.full(program.work_dur.size, host)
        self.work_end = np.full(program.work_dur.size, host)
        self.first_work: Ints = np.searchsorted(program.work_call, np.arange(gap.size + 1))
        self.several = program.streams > 1

    def play(self, first: int, last: int) -> None:
        span = slice(first, last)
        passed = np.cumsum(self.gap[span] + self.cost[span])
        end = self.host + passed
        self.call_end[span] = end
        self.call_begin[span] = end - self.cost[span]
        self._issue(int(self.first_work[first]), int(self.first_work[last]))
        self.host = float(end[-1])
        wait = int(self.program.waits[last - 1])
        if wait != NOTHING:
            done = float(self.free.max()) if wait == EVERYTHING else float(self.work_end[wait])
            self.host = max(self.host, done) + float(self.program.wake[last - 1])
            self.call_end[last - 1] = self.host

    def play_stepwise(self) -> None:
        """The whole pass, one call at a time, on plain lists: the same rules for windows full of waits."""
        program = self.program
        gap, cost, wake, waits = self.gap.tolist(), self.cost.tolist(), program.wake.tolist(), program.waits.tolist()
        dur, latency, spacing = program.work_dur.tolist(), program.latency.tolist(), program.spacing.tolist()
        stream, depends, keep = program.work_stream.tolist(), program.depends.tolist(), program.work_keep.tolist()
        first_work, free, host = self.first_work.tolist(), self.free.tolist(), self.host
        begun, ended, work_start, work_end = [], [], self.work_start.tolist(), self.work_end.tolist()
        # comparisons instead of max() and one zip instead of five look-ups: this loop is most of a report's time on such windows
        for before, own, wait, after, work, until in zip(gap, cost, waits, wake, first_work, first_work[1:], strict=False):
            begin = host + before
            host = begin + own
            while work < until:
                if keep[work]:
                    on = stream[work]
                    start = free[on] + spacing[work]
                    ready = begin + latency[work]
                    if ready > start:  # noqa: PLR1730
                        start = ready
                    awaited = depends[work]
                    if awaited != NOTHING and work_end[awaited] > start:
                        start = work_end[awaited]
                    work_start[work] = start
                    free[on] = work_end[work] = start + dur[work]
                work += 1  # noqa: PLW2901
            if wait != NOTHING:
                done = max(free) if wait == EVERYTHING else work_end[wait]
                host = (host if host > done else done) + after  # noqa: FURB136
            begun.append(begin)
            ended.append(host)
        self.host, self.free[:] = host, free
        self.call_begin, self.call_end = np.array(begun), np.array(ended)
        self.work_start, self.work_end = np.array(work_start), np.array(work_end)

    def _issue(self, first: int, last: int) -> None:
        """Start the work; what awaits other work of the same run, as in a graph with branches, begins a part of its own."""
        if first == last:
            return
        awaiting = first + np.flatnonzero(self.program.depends[first:last] >= first)
        for begin, end in pairwise([first, *awaiting.tolist(), last]):
            self._issue_part(begin, end)

    def _issue_part(self, first: int, last: int) -> None:
        program, span = self.program, slice(first, last)
        ready = self.call_begin[program.work_call[span]] + program.latency[span]
        dependent = program.depends[first:last] != NOTHING
        if dependent.any():
            index = np.flatnonzero(dependent)
            ready[index] = np.maximum(ready[index], self.work_end[program.depends[first + index]])
        if not self.several:
            kept = np.flatnonzero(program.work_keep[span])
            self._queue(0, first + kept, ready[kept])
            return
        streams = program.work_stream[span]
        for stream in np.unique(streams):
            mine = np.flatnonzero((streams == stream) & program.work_keep[span])
            self._queue(int(stream), first + mine, ready[mine])

    def _queue(self, stream: int, work: Ints, ready: Floats) -> None:
        if work.size == 0:
            return
        dur = self.program.work_dur[work]
        done = np.cumsum(dur + self.program.spacing[work])
        slack = np.maximum.accumulate(np.maximum(ready + dur - done, self.free[stream]))
        end = slack + done
        self.work_end[work] = end
        self.work_start[work] = end - dur
        self.free[stream] = end[-1]
