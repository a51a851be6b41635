"""What would the step cost if …: the recorded window, ready to be played with an edit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from analyze.errors import MissingData
from analyze.replay.build import build_program
from analyze.replay.concurrency import concurrency
from analyze.replay.event_cost import LEAN_EVENT_COST_NS, RICH_EVENT_COST_NS, RUN_TO_RUN, event_cost
from analyze.replay.program import Program
from analyze.replay.simulate import Played, host_time_ns, simulate
from analyze.replay.undisturbed import usual_excess, with_excess
from analyze.scalars import number, number_or_none, whole

if TYPE_CHECKING:
    from analyze.replay.concurrency import Concurrency
    from analyze.replay.program import Ints

#: a fix: a changed copy of the program
Edit: TypeAlias = Callable[[Program], Program]

WORK = dict.fromkeys(("id", "launch_id", "device", "stream", "start_ns", "dur_ns"), pl.Int64)
CALLS = {
    "id": pl.Int64, "process": pl.Categorical, "thread": pl.Categorical, "start_ns": pl.Int64, "dur_ns": pl.Int64,
    "blocking": pl.Categorical,
}  # fmt: skip


@dataclass(frozen=True)
class Saving:
    """Step time given back by an edit, ns per step of the reported step time, with bounds from the host cost's range."""

    ns: float
    low_ns: float
    high_ns: float


@dataclass(frozen=True)
class Replay:
    """The window as a program, the host cost of recording an event, and what the unedited replay is off by."""

    program: Program
    #: step time that the report gives: unprofiled where known, else the profiled mean
    step_ns: float
    profiled_step_ns: float
    #: low, used and high cost of one recorded event
    event_cost_ns: tuple[float, float, float]
    #: cost at which the unedited replay comes closest to the reported step time
    shown_event_cost_ns: float
    baseline_known: bool
    #: launching threads, busiest first
    threads: tuple[tuple[str, str], ...]
    #: the window as it was recorded, where that is not what the replay starts from
    recorded: Program | None = None
    #: how far kernels of several streams overlapped; None where nobody looked
    concurrency: Concurrency | None = None

    @cached_property
    def profiled(self) -> Played:
        """The unedited window at profiled speed: the self-check."""
        return simulate(self.recorded or self.program)

    @cached_property
    def played(self) -> Played:
        """The unedited window with the likeliest cost of recording taken off: what edits are held against."""
        return simulate(self.program, self.event_cost_ns[1])

    @cached_property
    def shown(self) -> Played:
        """The unedited window as close to the reported step time as the recording's cost can bring it."""
        return simulate(self.program, self.shown_event_cost_ns)

    @property
    def error_fraction(self) -> float:
        """Relative error of the unedited replay against the profiled step time."""
        return abs(self.profiled.step_ns - self.profiled_step_ns) / self.profiled_step_ns

    @property
    def disturbed_fraction(self) -> float:
        """Share of the recorded host time that is left out because unprofiled steps are more even."""
        return 0.0 if self.recorded is None else 1.0 - host_time_ns(self.program) / max(host_time_ns(self.recorded), 1.0)

    def trust(self, *, host_side: bool) -> float:
        """Highest confidence of a saving replayed here: capped by the self-check, unknown recording cost and a disturbed one."""
        self_check = 0.95 - 2.0 * min(self.error_fraction, 0.45)
        unsure = host_side and (not self.baseline_known or self.disturbed_fraction > RUN_TO_RUN)
        return min(self_check, 0.7) if unsure else self_check

    def step_after(self, edit: Edit, event_cost_ns: float | None = None) -> float:
        """Step time with the edit, scaled so that the unedited replay gives the reported step time.

        Scaling down never takes device work below its recorded duration: a device does not run faster unprofiled. Nor
        does taking waits away let kernels of several streams overlap further than they were recorded to.
        """
        cost = self.event_cost_ns[1] if event_cost_ns is None else event_cost_ns
        now = self._unedited(cost)
        edited = edit(self.program)
        after = simulate(edited, cost).step_ns
        scaled = self.step_ns * after / now
        floor = 0.0 if scaled >= after else min(_device_floor(edited), after)
        overlap = self.concurrency.floor_ns(edited) if self.concurrency is not None else 0.0
        return max(scaled, floor, min(overlap, self.step_ns))

    def _unedited(self, event_cost_ns: float) -> float:
        """Step time of the unedited window at a cost of recording; the same few costs are asked for by every detector."""
        if event_cost_ns not in self._played_at:
            self._played_at[event_cost_ns] = simulate(self.program, event_cost_ns).step_ns
        return self._played_at[event_cost_ns]

    @cached_property
    def _played_at(self) -> dict[float, float]:
        return {self.event_cost_ns[1]: self.played.step_ns}

    def saving(self, edit: Edit) -> Saving:
        """What the edit gives back; never negative, never more than the step."""
        middle = self._saved(self.step_after(edit))
        ends = [self._saved(self.step_after(edit, cost)) for cost in (self.event_cost_ns[0], self.event_cost_ns[2])]
        return Saving(ns=middle, low_ns=min(middle, *ends), high_ns=max(middle, *ends))

    def host_time_removed_ns(self, edit: Edit) -> float:
        """Host time per step of the reported step time that the edit removes, whether or not the step gets shorter by it."""
        cost = self.event_cost_ns[1]
        removed = host_time_ns(self.program, cost) - host_time_ns(edit(self.program), cost)
        return removed / self.program.steps * self.step_ns / self.played.step_ns

    def _saved(self, after_ns: float) -> float:
        return min(max(self.step_ns - after_ns, 0.0), self.step_ns)


def replay(
    steps: pl.DataFrame,
    step_time: pl.DataFrame,
    op_events: pl.LazyFrame,
    runtime_events: pl.LazyFrame,
    memory_events: pl.LazyFrame,
    annotation_events: pl.LazyFrame,
    python_events: pl.LazyFrame,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
    baseline_step_ms: float | None = None,
) -> Replay:
    """Rebuild the first cycle's window; without device work it is the host's time on its busiest thread.

    Raises MissingData where a device is used but its side, or every launch within the steps, is missing.
    """
    window = steps.filter(pl.col("cycle") == steps["cycle"].min())
    start = whole(window["start_ns"].min())
    end = whole((window["start_ns"] + window["dur_ns"]).max())
    calls = _calls(launches, kernels, start, end)
    work = pl.concat([pl.DataFrame(schema=WORK), *(f.select(list(WORK)) for f in (kernels, copies) if f is not None)])
    threads = calls.group_by("process", "thread").len().sort("len", descending=True).select("process", "thread")
    if calls.is_empty():
        threads = _busiest_host_thread(op_events, start, end)
        calls = _marks(op_events, threads, start, end)
    families = [op_events, runtime_events, memory_events, annotation_events, python_events]
    times = _event_times(families, threads)
    recorded = build_program(calls, work, times, start_ns=start, end_ns=end, steps=window.height)
    profiled_steps = step_time.filter("profiled", pl.col("cycle") == window["cycle"][0])["step_ns"]
    profiled = number(profiled_steps.mean())
    program = recorded
    if work.is_empty():
        # with a device, what a slow stretch of the host costs depends on what the device has to do meanwhile
        share = usual_excess(profiled_steps.to_numpy(), step_time.filter(~pl.col("profiled"))["step_ns"].to_numpy())
        program = with_excess(recorded, window["start_ns"].sort().to_numpy(), share)
    rich = memory_events.head(1).collect().height + python_events.head(1).collect().height > 0
    unprofiled = _unprofiled_step_ns(step_time, baseline_step_ms)
    cost, shown_cost = event_cost(program, unprofiled, RICH_EVENT_COST_NS if rich else LEAN_EVENT_COST_NS)
    return Replay(
        program=program,
        recorded=recorded,
        # of all cycles, as the report gives it; the window that is played is the first one
        step_ns=unprofiled if unprofiled is not None else number(step_time.filter("profiled")["step_ns"].mean()),
        profiled_step_ns=profiled,
        event_cost_ns=cost,
        shown_event_cost_ns=shown_cost,
        baseline_known=unprofiled is not None,
        threads=tuple(threads.rows()),
        concurrency=concurrency(program, kernels),
    )


def _device_floor(program: Program) -> float:
    """Summed work of the busiest stream per step."""
    kept = program.work_dur * program.work_keep
    return float(np.bincount(program.work_stream, weights=kept).max()) / program.steps if kept.size else 0.0


def _calls(launches: pl.DataFrame | None, kernels: pl.DataFrame | None, start: int, end: int) -> pl.DataFrame:
    """Calls in the window that start work, or wait on a thread that starts work; none on a run without a device."""
    if launches is None or kernels is None:
        if kernels is not None or (launches is not None and launches["name"].cast(pl.String).str.contains("(?i)launch").any()):
            raise MissingData("launches and device work do not both appear in the trace")
        return pl.DataFrame(schema=CALLS)
    inside = launches.filter(pl.col("start_ns") >= start, pl.col("start_ns") < end)
    launching = inside.filter(pl.col("work_count") > 0).select("process", "thread").unique()
    relevant = (pl.col("work_count") > 0) | (pl.col("blocking").cast(pl.String) != "none")
    calls = inside.filter(relevant).join(launching, on=["process", "thread"], how="semi").sort("start_ns")
    if calls.is_empty():
        raise MissingData("no device work was launched within the recorded steps")
    return calls


def _busiest_host_thread(op_events: pl.LazyFrame, start: int, end: int) -> pl.DataFrame:
    inside = op_events.filter(pl.col("start_ns") >= start, pl.col("start_ns") < end)
    spent = inside.group_by("process", "thread").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)
    return spent.select("process", "thread").head(1).collect()


def _marks(op_events: pl.LazyFrame, threads: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Calls that do nothing, where operators of the thread begin and end: host time and events are known between each two."""
    inside = op_events.filter(pl.col("start_ns") >= start, pl.col("start_ns") < end, pl.col("dur_ns").is_not_null())
    mine = inside.join(threads.lazy(), on=["process", "thread"], how="semi").sort("start_ns").collect()
    until = pl.col("start_ns") + pl.col("dur_ns")
    outermost = mine.filter((pl.col("start_ns") >= until.cum_max().shift(1)).fill_null(value=True))
    edges = pl.concat([outermost["start_ns"], outermost.select(until)["start_ns"].clip(upper_bound=end)]).unique().sort()
    nothing = pl.DataFrame({"start_ns": edges}).with_columns(id=pl.lit(-1), dur_ns=pl.lit(0), blocking=pl.lit("none"))
    return pl.concat(
        [pl.DataFrame(schema=CALLS), nothing.cast({k: v for k, v in CALLS.items() if k in nothing.columns})], how="diagonal"
    )


def _event_times(families: list[pl.LazyFrame], threads: pl.DataFrame) -> Ints:
    lanes = threads.lazy()
    frames = [
        family.select("start_ns", "process", "thread").join(lanes, on=["process", "thread"], how="semi") for family in families
    ]
    times: Ints = pl.concat([frame.select("start_ns") for frame in frames]).collect()["start_ns"].sort().to_numpy()
    return times


def _unprofiled_step_ns(step_time: pl.DataFrame, baseline_step_ms: float | None) -> float | None:
    if baseline_step_ms is not None:
        return baseline_step_ms * 1e6
    return number_or_none(step_time.filter(~pl.col("profiled"))["step_ns"].mean())
