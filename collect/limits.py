"""How many steps may each stage of a recording take, and what is given up where a loop is too short for all of them?"""

from __future__ import annotations

from dataclasses import dataclass, replace

#: steps compared with as many before them to tell that step time settled
SETTLE_COMPARED_STEPS = 3
THROW_AWAY_STEPS = 1
ARM_STEPS = 1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How long each stage may take."""

    settle_most_steps: int = 100
    settle_most_s: float = 30.0
    #: steps to skip where ranks must agree
    settle_fixed_steps: int = 10
    baseline_steps: int = 30
    #: thirty steps of a millisecond are a short stretch: the last one, which delays nothing, lasts longer
    baseline_least_s: float = 1.0
    baseline_most_s: float = 10.0
    times_steps: int = 5
    explanations_steps: int = 2
    refill_steps: int = 2
    #: whether every stage is a fixed number of steps
    fixed: bool = False
    #: whether there are profiler windows at all
    windows: bool = True

    @property
    def core_steps(self) -> int:
        """Steps that the two windows need by themselves."""
        return THROW_AWAY_STEPS + ARM_STEPS + self.times_steps + ARM_STEPS + self.explanations_steps


def fit(limits: Limits, total_steps: int | None) -> tuple[Limits, list[str]]:
    """Shrink stretches so that a loop of `total_steps` holds both windows; say what was given up."""
    if total_steps is None or not limits.windows:
        return limits, []
    spare = total_steps - limits.core_steps
    wanted = 2 * SETTLE_COMPARED_STEPS + 1 + 3 * limits.refill_steps + 2 * limits.baseline_steps
    if spare >= wanted:
        return limits, []
    if spare < 1:
        return replace(limits, settle_most_steps=1, baseline_least_s=0.0, windows=False), [
            f"a loop of {total_steps} steps is too short for the profiler windows: they need {limits.core_steps + 1}"
        ]
    settle = max(1, spare // 6)
    refill = min(limits.refill_steps, spare // 8)
    baseline = max(0, (spare - settle - 3 * refill) // 2)
    shrunk = replace(
        limits,
        settle_most_steps=settle,
        settle_fixed_steps=settle,
        baseline_steps=baseline,
        baseline_least_s=0.0,
        refill_steps=refill,
        fixed=True,
    )
    note = f"a loop of {total_steps} steps is short: {settle} skipped at first, two baselines of {baseline} steps"
    return shrunk, [note]
