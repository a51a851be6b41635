"""Which steps are left alone, timed, or profiled, and when is the recording complete?

    settling        until step time settles (compilation, algorithm search, caches)
    baseline        an unprofiled stretch
    warmup          a throw-away profiled step (the first use of a profiler loses events), then enough unprofiled
                    steps to empty what the input pipeline hoarded meanwhile, then one step with the profiler armed
    times           window A
    warmup          as above, without the throw-away step
    explanations    window B
    warmup          the hoard again
    baseline        the second unprofiled stretch
    idle            nothing more is to be recorded

Pure: it is told how long each step took and answers with the stage of the next one. Jobs of several ranks must open
their windows at the same step, and their clocks differ, so there every stage is a fixed number of steps.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from collect.limits import ARM_STEPS, SETTLE_COMPARED_STEPS, THROW_AWAY_STEPS, Limits

Phase = Literal["settling", "baseline", "warmup", "times", "explanations", "idle"]
#: what the profiler does during a stage
Profiling = Literal["off", "discard", "arm_times", "times", "arm_explanations", "explanations"]

_SECOND_NS = 1_000_000_000
#: step time counts as settled when two neighbouring medians differ by less
_SETTLED_WITHIN_FRACTION = 0.2
#: a stretch cut by its time limit still needs a few steps to have a mean
_BASELINE_LEAST_STEPS = 5
#: more is not worth waiting for, however deep the input pipeline
_MOST_REFILL_STEPS = 64


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A run of steps that are treated alike."""

    name: str
    phase: Phase
    profiling: Profiling = "off"
    #: number of steps; None where a rule decides
    steps: int | None = None


def _stages(limits: Limits) -> tuple[Stage, ...]:
    settling = Stage(name="settling", phase="settling")
    idle = Stage(name="idle", phase="idle")
    if not limits.windows:
        return (settling, Stage(name="baseline", phase="baseline"), idle)
    refill = Stage(name="refill", phase="warmup")
    return (
        settling,
        Stage(name="baseline before", phase="baseline"),
        Stage(name="throw-away", phase="warmup", profiling="discard", steps=THROW_AWAY_STEPS),
        refill,
        Stage(name="arm times", phase="warmup", profiling="arm_times", steps=ARM_STEPS),
        Stage(name="times", phase="times", profiling="times", steps=limits.times_steps),
        refill,
        Stage(name="arm explanations", phase="warmup", profiling="arm_explanations", steps=ARM_STEPS),
        Stage(name="explanations", phase="explanations", profiling="explanations", steps=limits.explanations_steps),
        refill,
        Stage(name="baseline after", phase="baseline"),
        idle,
    )


@dataclass
class Schedule:
    """The stages of one run; `advance` moves on, a step at a time."""

    limits: Limits = field(default_factory=Limits)
    notes: list[str] = field(default_factory=list)
    #: first step after settling; None until then
    settled_at_step: int | None = None
    #: batches that the input pipeline can hoard while the loop stands still
    prefetched_batches: int = 0

    def __post_init__(self) -> None:
        self._stages = _stages(self.limits)
        self._position = 0
        self._step = 0
        #: steps of this stage, their time, and the latest of them
        self._taken = self._elapsed_ns = 0
        self._latest_ns: deque[int] = deque(maxlen=2 * SETTLE_COMPARED_STEPS)

    @property
    def stage(self) -> Stage:
        """The stage of the step that runs now."""
        return self._stages[self._position]

    @property
    def done(self) -> bool:
        """Whether nothing more is to be recorded."""
        return self.stage.phase == "idle"

    @property
    def missing(self) -> list[str]:
        """Stages worth having that have not been completed."""
        worth = ("baseline", "baseline before", "times", "explanations", "baseline after")
        ahead = self._stages[self._position :]
        if self.stage.phase == "baseline" and self._taken >= self.limits.baseline_steps:
            ahead = ahead[1:]
        return [stage.name for stage in ahead if stage.name in worth]

    def steps_to_go(self) -> int:
        """Steps until done, as far as can be told: stages ruled by time count with their step rule."""
        ahead = sum(self._expected_steps(stage) for stage in self._stages[self._position :])
        return max(0, ahead - self._taken)

    def advance(self, dur_ns: int, left_in_epoch: int | None = None, epoch_steps: int | None = None) -> bool:
        """Take in a finished step; return whether the next one belongs to a new stage.

        `left_in_epoch` and `epoch_steps` count steps; a window that would run over the end of an epoch waits for the
        next one, as long as an epoch can hold it.
        """
        self._step += 1
        self._taken += 1
        self._elapsed_ns += dur_ns
        self._latest_ns.append(dur_ns)
        if self.done or not self._stage_is_over(left_in_epoch, epoch_steps):
            return False
        if self.stage.phase == "settling":
            self.settled_at_step = self._step
        self._next()
        while self._is_empty(self.stage):
            self._next()
        return True

    def _next(self) -> None:
        self._position += 1
        self._taken = self._elapsed_ns = 0
        self._latest_ns.clear()

    def _is_empty(self, stage: Stage) -> bool:
        return self._expected_steps(stage) == 0 and stage.phase != "idle"

    def _expected_steps(self, stage: Stage) -> int:
        if stage.steps is not None:
            return stage.steps
        if stage.name == "refill":
            return self._refill_steps()
        if stage.phase == "settling":
            least = 2 * SETTLE_COMPARED_STEPS + 1
            return self.limits.settle_fixed_steps if self.limits.fixed else min(least, self.limits.settle_most_steps)
        return self.limits.baseline_steps if stage.phase == "baseline" else 0

    def _refill_steps(self) -> int:
        if self.limits.refill_steps == 0:
            return 0
        return min(max(self.limits.refill_steps, self.prefetched_batches), _MOST_REFILL_STEPS)

    def _stage_is_over(self, left_in_epoch: int | None, epoch_steps: int | None) -> bool:
        taken = self._taken
        if self.stage.phase == "settling":
            return self._has_settled()
        if self.stage.phase == "baseline":
            return self._has_baseline()
        if self.stage.name == "refill":
            return taken >= self._refill_steps() and self._window_fits(left_in_epoch, epoch_steps)
        return taken >= (self.stage.steps or 0)

    def _has_settled(self) -> bool:
        limits, taken = self.limits, self._taken
        if limits.fixed:
            return taken >= limits.settle_fixed_steps
        compared = SETTLE_COMPARED_STEPS
        if taken > 2 * compared:
            latest = list(self._latest_ns)
            earlier, later = median(latest[:compared]), median(latest[compared:])
            if abs(later - earlier) <= _SETTLED_WITHIN_FRACTION * earlier:
                return True
        too_long = self._elapsed_ns >= limits.settle_most_s * _SECOND_NS and taken >= compared
        if taken >= limits.settle_most_steps or too_long:
            self.notes.append(f"step time had not settled after {taken} steps; measured all the same")
            return True
        return False

    def _has_baseline(self) -> bool:
        limits, taken, elapsed_ns = self.limits, self._taken, self._elapsed_ns
        if limits.fixed:
            return taken >= limits.baseline_steps
        is_last = self._stages[self._position + 1].phase == "idle"
        least_ns = limits.baseline_least_s * _SECOND_NS if is_last else 0
        if taken >= limits.baseline_steps and elapsed_ns >= least_ns:
            return True
        if taken >= _BASELINE_LEAST_STEPS and elapsed_ns >= limits.baseline_most_s * _SECOND_NS:
            self.notes.append(f"{self.stage.name}: {taken} steps, cut at {limits.baseline_most_s:g} s")
            return True
        return False

    def _window_fits(self, left_in_epoch: int | None, epoch_steps: int | None) -> bool:
        following = self._stages[self._position + 1]
        if left_in_epoch is None or epoch_steps is None or following.profiling == "off":
            return True
        needed = (following.steps or 0) + (self._stages[self._position + 2].steps or 0)
        return left_in_epoch >= needed or epoch_steps < needed
