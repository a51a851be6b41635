"""What would the step cost if one rank were faster? All ranks played together: a collective ends when the last one has come.

Each rank is its own clock, which stands still while a collective blocks it. On that clock stand its arrivals at the
collectives and the places where it went on after them. Played forward, a collective ends at its last arrival plus its transfer,
and whoever it blocks goes on no earlier. Ranks are coupled by nothing else, unless they share a
device: then they take turns on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from analyze.replay.replay import Saving
from analyze.replay.turns import CHANGE_OVER, Turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analyze.intervals import Ints

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Marks: TypeAlias = list[tuple[float, Literal["arrive", "hold"], int]]

#: the window is played this often; the last pass is in steady state, whenever each rank began to record
PASSES = 2
#: own times of one rank differ by about this much from run to run
SPREAD = 0.10
NO_LANE = NO_ROW = -1
COMPUTING = "compute_ns"
PARTS = ("own_ns", "compute_ns", "copy_ns", "input_wait_ns", "gc_ns", "host_ns")


@dataclass(frozen=True)
class Change:
    """How much more or less each rank has to do in each step (ranks x steps, ns): computing, and everything else of its own."""

    computing: Floats
    other: Floats

    def __add__(self, more: Change) -> Change:
        return Change(self.computing + more.computing, self.other + more.other)


@dataclass(frozen=True, kw_only=True)
class JointReplay:
    """All ranks' windows; rows are one rank's part in one collective, in order of the collectives."""

    ranks: tuple[int, ...]
    steps: tuple[int, ...]
    #: recorded step time, mean over steps and ranks
    recorded_ns: float
    #: and its median over steps: one step that was disturbed says little about the others
    usual_ns: float
    #: parts of each rank's own time by name, ranks x steps
    parts: dict[str, Floats]
    #: per row: index of the rank, own clock at the arrival and where it went on, whether it was blocked, and the stream or thread
    #: that does one after another
    rank: Ints
    arrives: Floats
    resumes: Floats
    blocks: Flags
    lane: Ints
    #: row whose end was the last to hold the rank up before it arrived; NO_ROW where none did
    after: Ints
    #: first row of each collective, and the end; duration once all are there
    first: Ints
    transfer: Floats
    #: own clock at the steps' boundaries, ranks x (steps + 1)
    bounds: Floats
    #: whether devices compute, not the hosts
    on_device: bool = False
    #: where ranks share a device: how they take turns on it
    turns: Turns | None = None

    @cached_property
    def step_ns(self) -> float:
        """Step time of the unedited replay."""
        return self._unedited[CHANGE_OVER[1]]

    @cached_property
    def _unedited(self) -> dict[float, float]:
        """Step time by what a shared device may lose in its turns; every saving is held against these."""
        costs = (CHANGE_OVER[1],) if self.turns is None else CHANGE_OVER
        return {cost: self.play(change_over=cost) for cost in costs}

    @property
    def error_fraction(self) -> float:
        """Relative error of the unedited replay against the recorded step time."""
        return abs(self.step_ns - self.recorded_ns) / self.recorded_ns

    def play(self, change: Change | None = None, transfer: Floats | None = None, change_over: float = CHANGE_OVER[1]) -> float:
        """Step time with what ranks do changed, and other transfers; change_over is what a shared device loses in its turns."""
        cost = self.transfer if transfer is None else transfer
        if self.turns is not None:
            computing, elsewhere = self._factors(self.turns, change)
            return self.turns.play(cost, computing=computing, elsewhere=elsewhere, change_over=change_over)
        arrives, resumes, bounds = self.arrives, self.resumes, self.bounds
        if change is not None:
            arrives, resumes, bounds = self._warped(change.computing + change.other)
        begin = finish = np.zeros(len(self.ranks))
        for _ in range(PASSES):
            begin, finish = finish, self._pass(finish, arrives, resumes, cost) + bounds[:, -1]
        return float(finish.max() - begin.max()) / len(self.steps)

    def _factors(self, turns: Turns, change: Change | None) -> tuple[Floats | None, Floats | None]:
        """By what work on the device and time elsewhere are multiplied."""
        if change is None:
            return None, None
        now = ((turns.work_ns(), change.computing), (turns.elsewhere_ns(), change.other))
        computing, elsewhere = (np.maximum(1.0 + by / np.maximum(spent, 1.0), 0.0) for spent, by in now)
        return computing, elsewhere

    def _pass(self, begin: Floats, arrives: Floats, resumes: Floats, transfer: Floats) -> Floats:
        """How far the ranks' own clocks have fallen behind at the end."""
        behind: Floats = begin.copy()
        behind_after = np.empty(arrives.size)
        free = np.full(int(self.lane.max(initial=NO_LANE)) + 1, -np.inf)
        for collective, (first, last) in enumerate(pairwise(self.first.tolist())):
            rank, lane, blocks = self.rank[first:last], self.lane[first:last], self.blocks[first:last]
            after = self.after[first:last]
            arrival = arrives[first:last] + np.where(after == NO_ROW, begin[rank], behind_after[np.maximum(after, 0)])
            queued = lane != NO_LANE
            arrival[queued] = np.maximum(arrival[queued], free[lane[queued]])
            end = float(arrival.max()) + transfer[collective]
            free[lane[queued]] = end
            held = rank[blocks]
            behind[held] = np.maximum(behind[held], end - resumes[first:last][blocks])
            behind_after[first:last] = behind[rank]
        return behind

    def _warped(self, own_change: Floats) -> tuple[Floats, Floats, Floats]:
        """Own clocks on which each step takes its changed time; what lies within a step keeps its place in proportion."""
        before = np.diff(self.bounds, axis=1)
        after = np.maximum(before + own_change, 0.0)
        bounds = np.concatenate([np.zeros((len(self.ranks), 1)), np.cumsum(after, axis=1)], axis=1)
        arrives, resumes = np.empty_like(self.arrives), np.empty_like(self.resumes)
        for rank in range(len(self.ranks)):
            mine = self.rank == rank
            for given, changed in ((self.arrives, arrives), (self.resumes, resumes)):
                changed[mine] = np.interp(given[mine], self.bounds[rank], bounds[rank])
        return arrives, resumes, bounds

    def saving(self, change: Change | None = None, transfer: Floats | None = None) -> Saving:
        """Step time given back, as recorded; the bounds are how far own times vary from run to run.

        On a shared device they are also what it may lose in changing from one rank to the next.
        """
        return self._given_back([self.play(change, transfer, cost) for cost in self._unedited])

    def on_own_devices(self) -> Saving:
        """What a device for every rank would give back; nothing where each has one."""
        if self.turns is None:
            return Saving(0.0, 0.0, 0.0)
        apart = replace(self, turns=self.turns.on_own_devices())
        return self._given_back([apart.play(change_over=cost) for cost in self._unedited])

    def _given_back(self, after: list[float]) -> Saving:
        """From the step times after a change, one for each of `_unedited`."""
        each = [max(before - then, 0.0) for before, then in zip(self._unedited.values(), after, strict=True)]
        slack = self.error_fraction * self.step_ns
        low, high = min(each) * (1 - SPREAD) - slack, max(each) * (1 + SPREAD) + slack
        return Saving(each[len(each) // 2], max(low, 0.0), min(high, self.step_ns))

    def device_work_ns(self) -> Floats:
        """What each rank's kernels would take by themselves, ranks x steps: what was recorded, unless ranks take turns."""
        return self.parts["compute_ns"] if self.turns is None else self.turns.work_ns()

    def balanced(self, part: str) -> Change:
        """Change under which every rank has the mean of a part in each step: the same work, evenly spread."""
        each = self._part(part)
        return self._change(part, each.mean(axis=0) - each)

    def as_others(self, rank: int, part: str) -> Change:
        """Change under which one rank needs no longer for a part than the others do (their median, per step)."""
        place, each = self.ranks.index(rank), self._part(part)
        change = np.zeros_like(each)
        change[place] = np.minimum(np.median(np.delete(each, place, axis=0), axis=0) - each[place], 0.0)
        return self._change(part, change)

    def as_warm_as(self, rank: int) -> Change:
        """Change under which no rank needs longer for its own work than one that never waits; nothing where devices do the work.

        On the host, whoever sleeps through a wait comes back to cold caches and another core.
        """
        nothing = np.zeros_like(self.parts["own_ns"])
        if self.on_device:
            return Change(nothing, nothing)
        place = self.ranks.index(rank)
        changes = {part: np.minimum(self.parts[part][place].mean() - self.parts[part], 0.0) for part in ("compute_ns", "host_ns")}
        for change in changes.values():
            change[place] = 0.0
        return Change(changes["compute_ns"], changes["host_ns"])

    def _part(self, part: str) -> Floats:
        return self.device_work_ns() if part == COMPUTING else self.parts[part]

    def _change(self, part: str, by: Floats) -> Change:
        nothing = np.zeros_like(by)
        return Change(by, nothing) if part == COMPUTING else Change(nothing, by)
