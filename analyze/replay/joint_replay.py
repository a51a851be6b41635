"""What would the step cost if one rank were faster? All ranks played together: a collective ends when the last one has come.

Each rank is its own clock, which stands still while a collective blocks it. On that clock stand its arrivals at the
collectives and the places where it went on after them. Played forward, a collective ends at its last arrival plus its transfer,
and whoever it blocks goes on no earlier. Ranks are coupled by nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.intervals import covered_per_window, merge
from analyze.replay.replay import Saving
from analyze.scalars import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from analyze.intervals import Ints

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

#: the window is played this often; the last pass is in steady state, whenever each rank began to record
PASSES = 2
#: own times of one rank differ by about this much from run to run
SPREAD = 0.10
NO_STREAM = NO_ROW = -1
PARTS = ("own_ns", "compute_ns", "copy_ns", "input_wait_ns", "gc_ns", "host_ns")


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
    #: per row: index of the rank, own clock at the arrival and where it went on, whether it was blocked, stream
    rank: Ints
    arrives: Floats
    resumes: Floats
    blocks: Flags
    stream: Ints
    #: row whose end was the last to hold the rank up before it arrived; NO_ROW where none did
    after: Ints
    #: first row of each collective, and the end; duration once all are there
    first: Ints
    transfer: Floats
    #: own clock at the steps' boundaries, ranks x (steps + 1)
    bounds: Floats

    @cached_property
    def step_ns(self) -> float:
        """Step time of the unedited replay."""
        return self.play()

    @property
    def error_fraction(self) -> float:
        """Relative error of the unedited replay against the recorded step time."""
        return abs(self.step_ns - self.recorded_ns) / self.recorded_ns

    def play(self, own_change: Floats | None = None, transfer: Floats | None = None) -> float:
        """Step time with each rank's own time changed by own_change (ranks x steps, ns) and other transfers."""
        arrives, resumes, bounds = self.arrives, self.resumes, self.bounds
        if own_change is not None:
            arrives, resumes, bounds = self._warped(own_change)
        cost = self.transfer if transfer is None else transfer
        begin = finish = np.zeros(len(self.ranks))
        for _ in range(PASSES):
            begin, finish = finish, self._pass(finish, arrives, resumes, cost) + bounds[:, -1]
        return float(finish.max() - begin.max()) / len(self.steps)

    def _pass(self, begin: Floats, arrives: Floats, resumes: Floats, transfer: Floats) -> Floats:
        """How far the ranks' own clocks have fallen behind at the end."""
        behind: Floats = begin.copy()
        behind_after = np.empty(arrives.size)
        free = np.full(int(self.stream.max(initial=NO_STREAM)) + 1, -np.inf)
        for collective, (first, last) in enumerate(pairwise(self.first.tolist())):
            rank, stream, blocks = self.rank[first:last], self.stream[first:last], self.blocks[first:last]
            after = self.after[first:last]
            arrival = arrives[first:last] + np.where(after == NO_ROW, begin[rank], behind_after[np.maximum(after, 0)])
            streamed = stream != NO_STREAM
            arrival[streamed] = np.maximum(arrival[streamed], free[stream[streamed]])
            end = float(arrival.max()) + transfer[collective]
            free[stream[streamed]] = end
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

    def saving(self, own_change: Floats | None = None, transfer: Floats | None = None) -> Saving:
        """Step time given back, as recorded; the bounds are how far own times vary from run to run."""
        saved = max(self.step_ns - self.play(own_change, transfer), 0.0)
        slack = self.error_fraction * self.step_ns
        return Saving(saved, max(saved * (1 - SPREAD) - slack, 0.0), min(saved * (1 + SPREAD) + slack, self.step_ns))

    def balanced(self, part: str) -> Floats:
        """Change under which every rank has the mean of a part in each step: the same work, evenly spread."""
        each = self.parts[part]
        change: Floats = each.mean(axis=0) - each
        return change

    def as_others(self, rank: int, part: str) -> Floats:
        """Change under which one rank needs no longer for a part than the others do (their median, per step)."""
        place, each = self.ranks.index(rank), self.parts[part]
        change = np.zeros_like(each)
        change[place] = np.minimum(np.median(np.delete(each, place, axis=0), axis=0) - each[place], 0.0)
        return change

    def as_warm_as(self, rank: int) -> Floats:
        """Change under which no rank needs longer for its own work than one that never waits; nothing where devices do the work.

        On the host, whoever sleeps through a wait comes back to cold caches and another core.
        """
        place = self.ranks.index(rank)
        if (self.stream != NO_STREAM).any():
            return np.zeros_like(self.parts["own_ns"])
        changes = [np.minimum(self.parts[part][place].mean() - self.parts[part], 0.0) for part in ("compute_ns", "host_ns")]
        change: Floats = sum(changes, start=np.zeros_like(changes[0]))
        change[place] = 0.0
        return change


def joint_replay(matched_collectives: pl.DataFrame, rank_steps: pl.DataFrame, own_time: pl.DataFrame) -> JointReplay:
    """Rebuild the common steps of all ranks that share collectives."""
    ranks = matched_collectives["rank"].unique().sort()
    mine = rank_steps.filter(pl.col("rank").is_in(ranks.implode()))
    steps = mine["step"].unique().sort()
    windows = own_time.filter(pl.col("step").is_in(steps.implode()), pl.col("rank").is_in(ranks.implode()))
    rows = matched_collectives.sort("match", "rank")
    index = rows["rank"].replace_strict(ranks, np.arange(ranks.len()), return_dtype=pl.Int64).to_numpy()
    start = rows["start_ns"].to_numpy()
    end = start + rows["dur_ns"].to_numpy()
    blocked = rows["blocked_ns"].to_numpy()
    arrives, resumes = np.zeros(rows.height), np.zeros(rows.height)
    bounds = np.zeros((ranks.len(), steps.len() + 1))
    for place, rank in enumerate(ranks):
        own = windows.filter(pl.col("rank") == rank).sort("start_ns")
        edges = np.append(own["start_ns"].to_numpy(), own["start_ns"][-1] + own["step_ns"][-1])
        here = index == place
        spans = merge(end[here] - blocked[here], end[here])

        def clock(times: Ints, begin: int = int(edges[0]), spans: tuple[Ints, Ints] = spans) -> Floats:
            return (times - begin - covered_per_window(spans, np.full(times.size, begin), times)).astype(np.float64)

        arrives[here], resumes[here], bounds[place] = clock(start[here]), clock(end[here]), clock(edges)
    streams = rows.select(pl.struct("rank", "stream").rank("dense").cast(pl.Int64) - 1).to_series()
    streams = pl.select(pl.when(rows["stream"].is_null()).then(NO_STREAM).otherwise(streams)).to_series()
    first = np.flatnonzero(np.diff(rows["match"].to_numpy(), prepend=-1))
    shortest = rows.group_by("match", maintain_order=True).agg(pl.col("dur_ns").min())["dur_ns"]
    return JointReplay(
        ranks=tuple(ranks.to_list()),
        steps=tuple(steps.to_list()),
        recorded_ns=number(mine["step_ns"].mean()),
        usual_ns=number(mine.group_by("step").agg(pl.col("step_ns").mean())["step_ns"].median()),
        parts={part: _table(mine, part) for part in PARTS},
        rank=index,
        arrives=arrives,
        resumes=resumes,
        blocks=blocked > 0,
        stream=streams.to_numpy(),
        after=_after(index, arrives, resumes, blocked > 0),
        first=np.append(first, rows.height),
        transfer=shortest.cast(pl.Float64).to_numpy(),
        bounds=bounds,
    )


def _after(rank: Ints, arrives: Floats, resumes: Floats, blocks: Flags) -> Ints:
    """For each row the rank's last earlier row that blocked it and let it go on before it arrived here."""
    found = np.full(rank.size, NO_ROW, dtype=np.int64)
    for one in range(int(rank.max(initial=-1)) + 1):
        mine = np.flatnonzero(rank == one)
        held = mine[blocks[mine]]
        if held.size:
            went_on = np.searchsorted(np.maximum.accumulate(resumes[held]), arrives[mine], side="right")
            slot = np.minimum(went_on, np.searchsorted(held, mine)) - 1
            found[mine] = np.where(slot >= 0, held[np.maximum(slot, 0)], NO_ROW)
    return found


def _table(rank_steps: pl.DataFrame, column: str) -> Floats:
    """A column as ranks x steps."""
    wide = rank_steps.sort("step", "rank").pivot(on="step", index="rank", values=column).sort("rank").drop("rank")
    table: Floats = wide.to_numpy().astype(np.float64)
    return table
