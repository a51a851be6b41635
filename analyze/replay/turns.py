"""Ranks that share a device, played together: while n of them have kernels to run, each gets one nth of the device.

Each rank is a list of operations in the order of its own clock: run elsewhere, run on the device, arrive at a collective, hold
until one has ended. Time moves on to whatever is done next.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

#: changing from one process to the next costs this share of a shared device's time: least, likeliest, most. Two processes on one
#: H200 lost 7 to 10 % (benchmarks/results/imbalance.txt)
CHANGE_OVER = (0.0, 0.1, 0.2)
#: two times are the same below this, ns
SAME_NS = 1e-3

Kind = Literal["elsewhere", "device", "arrive", "hold"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing a rank does: ns alone and shared (each instant's share of the device), or the collective it is about."""

    kind: Kind
    step: int
    alone_ns: float = 0.0
    shares_ns: float = 0.0
    collective: int = -1

    def work_ns(self, change_over: float) -> float:
        """What it takes by itself."""
        return self.alone_ns + (1.0 - change_over) * self.shares_ns


@dataclass(frozen=True, kw_only=True)
class Turns:
    """All ranks' operations, and the device each shares (None: its own)."""

    operations: tuple[tuple[Operation, ...], ...]
    device: tuple[str | None, ...]
    steps: int
    #: by collective: those that keep a stream or thread busy that it needs on some rank
    queued_behind: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def work_ns(self, change_over: float = CHANGE_OVER[1]) -> Floats:
        """What each rank's kernels would take on a device of its own, ranks x steps."""
        work = np.zeros((len(self.operations), self.steps))
        for rank, operations in enumerate(self.operations):
            for one in operations:
                if one.kind == "device":
                    work[rank, one.step] += one.work_ns(change_over)
        return work

    def elsewhere_ns(self) -> Floats:
        """What each rank does while it has no kernels, ranks x steps."""
        spent = np.zeros((len(self.operations), self.steps))
        for rank, operations in enumerate(self.operations):
            for one in operations:
                if one.kind == "elsewhere":
                    spent[rank, one.step] += one.alone_ns
        return spent

    def on_own_devices(self) -> Turns:
        """The same ranks with a device each."""
        return replace(self, device=(None,) * len(self.device))

    def play(
        self,
        transfer: Floats,
        *,
        computing: Floats | None = None,
        elsewhere: Floats | None = None,
        change_over: float = CHANGE_OVER[1],
        passes: int = 2,
    ) -> float:
        """Step time, with work on the device and time elsewhere multiplied by factors (ranks x steps); transfer by collective."""
        return _Play(self, transfer, computing, elsewhere, change_over).step_ns(passes)


def operations(
    marks: Sequence[tuple[float, Literal["arrive", "hold"], int]],
    spans: tuple[Floats, Floats, Floats, Floats],
    bounds: Floats,
) -> tuple[Operation, ...]:
    """One rank's operations: marks are (own clock, what, collective) in order; spans of kernels are start, end, alone, shares.

    bounds are the own clock at the steps' boundaries. A span that a mark or a boundary divides is divided in proportion.
    """
    start, end, alone, shares = spans
    at = np.array([mark[0] for mark in marks])
    cuts = np.unique(np.clip(np.concatenate([bounds, start, end, at]), bounds[0], bounds[-1]))
    begun = np.searchsorted(start, cuts[:-1], side="right") - 1
    step = np.clip(np.searchsorted(bounds, cuts[:-1], side="right") - 1, 0, bounds.size - 2)
    found: list[Operation] = []
    following = 0

    def pass_marks(until: float) -> None:
        nonlocal following
        while following < len(marks) and marks[following][0] <= until:
            _, kind, collective = marks[following]
            found.append(Operation(kind, 0, collective=collective))
            following += 1

    for index, (left, right) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
        pass_marks(left)
        span = int(begun[index])
        on_device = span >= 0 and end[span] >= right
        if on_device:
            part = (right - left) / (end[span] - start[span])
            found.append(Operation("device", int(step[index]), float(alone[span] * part), float(shares[span] * part)))
        else:
            found.append(Operation("elsewhere", int(step[index]), right - left))
    pass_marks(np.inf)
    return tuple(found)


@dataclass(slots=True, eq=False)
class _Rank:
    """Where one rank is: the operation, what is left of it, and when it passed the end of the window."""

    place: int
    device: str | None
    operations: tuple[Operation, ...]
    index: int = 0
    left: float = 0.0
    passed: list[float] = field(default_factory=lambda: [0.0])

    @property
    def doing(self) -> Operation:
        return self.operations[self.index]


class _Play:
    def __init__(
        self, turns: Turns, transfer: Floats, computing: Floats | None, elsewhere: Floats | None, change_over: float
    ) -> None:
        self.turns, self.transfer, self.change_over = turns, transfer, change_over
        self.factors: dict[str, Floats | None] = {"device": computing, "elsewhere": elsewhere}
        both = zip(turns.device, turns.operations, strict=True)
        self.ranks = [_Rank(place, device, mine) for place, (device, mine) in enumerate(both)]
        self.members = Counter(one.collective for mine in turns.operations for one in mine if one.kind == "arrive")
        self.arrived: Counter[tuple[int, int]] = Counter()
        self.complete: dict[tuple[int, int], float] = {}
        self.ends: dict[tuple[int, int], float] = {}
        self.now = 0.0

    def step_ns(self, passes: int) -> float:
        for rank in self.ranks:
            self._load(rank)
        while going := [rank for rank in self.ranks if len(rank.passed) <= passes]:
            settled = [self._settle(rank, passes) for rank in going]
            if not any(settled):
                self._move_on(going)
        finish, begin = (max(rank.passed[turn] for rank in self.ranks) for turn in (passes, passes - 1))
        return (finish - begin) / self.turns.steps

    def _load(self, rank: _Rank) -> None:
        """Take up the operation that the rank has come to."""
        one = rank.doing
        rank.left = 0.0
        if one.kind in self.factors:
            factor = self.factors[one.kind]
            work = one.work_ns(self.change_over) if one.kind == "device" else one.alone_ns
            rank.left = work if factor is None else work * max(float(factor[rank.place, one.step]), 0.0)

    def _settle(self, rank: _Rank, passes: int) -> bool:
        """Let a rank do what takes no time; whether there was anything."""
        moved = False
        while len(rank.passed) <= passes and self._done(rank):
            moved = True
            rank.index += 1
            if rank.index == len(rank.operations):
                rank.index = 0
                rank.passed.append(self.now)
            self._load(rank)
        return moved

    def _done(self, rank: _Rank) -> bool:
        one = rank.doing
        if one.kind in self.factors:
            return rank.left <= SAME_NS
        key = (len(rank.passed), one.collective)
        if one.kind == "arrive":
            self.arrived[key] += 1
            if self.arrived[key] == self.members[one.collective]:
                self.complete[key] = self.now
                self._begin()
            return True
        return self.ends.get(key, np.inf) <= self.now + SAME_NS

    def _begin(self) -> None:
        """Give an end to each collective for which all have come, once what its threads do before it has one."""
        for key in sorted(self.complete):
            window, collective = key
            before = [(window, earlier) for earlier in self.turns.queued_behind.get(collective, ())]
            if all(earlier in self.ends for earlier in before):
                begin = max([self.complete.pop(key), *(self.ends[earlier] for earlier in before)])
                self.ends[key] = begin + float(self.transfer[collective])

    def _move_on(self, going: Sequence[_Rank]) -> None:
        """To the next moment at which a rank is done with something."""
        sharing = Counter(rank.device for rank in going if rank.doing.kind == "device")
        rates = [self._rate(rank, sharing) for rank in going]
        after = min(self._until(rank, rate) for rank, rate in zip(going, rates, strict=True))
        if after == np.inf:
            # ranks that wait for one another: the recording's stamps contradict each other
            held = next(rank for rank in going if rank.doing.kind == "hold")
            self.ends[len(held.passed), held.doing.collective] = self.now
            return
        self.now += after
        for rank, rate in zip(going, rates, strict=True):
            if rank.doing.kind in self.factors:
                rank.left -= after * rate

    def _rate(self, rank: _Rank, sharing: Counter[str | None]) -> float:
        """How much of its operation a rank gets done in the time that passes."""
        ranks = sharing[rank.device] if rank.device is not None and rank.doing.kind == "device" else 1
        return 1.0 if ranks == 1 else (1.0 - self.change_over) / ranks

    def _until(self, rank: _Rank, rate: float) -> float:
        if rank.doing.kind in self.factors:
            return rank.left / rate
        return self.ends.get((len(rank.passed), rank.doing.collective), np.inf) - self.now
