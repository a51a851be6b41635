"""Whether a change made the step faster or slower, and by more than the noise of the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from analyze.errors import GateFailed, GateUndecided, InputError, MissingData, NotComparable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from analyze.findings.model import Report

    Steps = NDArray[np.float64]

#: what is compared, as a function of per-step times (resamples lie along the first axis)
METRICS: dict[str, Callable[[Steps], Steps]] = {
    "step_time": lambda steps: steps.mean(axis=-1),
    "step_time_median": lambda steps: np.median(steps, axis=-1),
    "step_time_p90": lambda steps: np.quantile(steps, 0.9, axis=-1),
}
RESAMPLES = 4_000
SEED = 20_230_000
#: keeps the resamples of a long run from filling memory
VALUES_AT_ONCE = 1_000_000
#: the interval holds the true change in this share of cases
COVERAGE = 0.95
#: with fewer steps on either side nothing can be said about their noise
FEWEST_STEPS = 3


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One metric of two runs: times in ns, changes as fractions of the base (positive is slower)."""

    metric: str
    base: Report
    new: Report
    base_ns: float
    new_ns: float
    base_count: int
    new_count: int
    change: float
    #: None where there are too few steps to know
    change_low: float | None
    change_high: float | None
    max_regression: float | None
    decision: Literal["passed", "failed", "undecided"] | None

    def gate(self) -> None:
        """Raise GateFailed or GateUndecided unless the gate passed or none was asked for."""
        if self.decision is None or self.decision == "passed" or self.max_regression is None:
            return
        span = "unknown noise"
        if self.change_low is not None and self.change_high is not None:
            span = f"between {self.change_low:+.1%} and {self.change_high:+.1%}"
        text = f"{self.metric} changed by {self.change:+.1%} ({span}), {self.max_regression:+.1%} is allowed"
        if self.decision == "failed":
            raise GateFailed(text)
        raise GateUndecided(f"{text}: record more steps to decide")


def compare(base: Report, new: Report, metric: str = "step_time", max_regression: float | None = None) -> Comparison:
    """Compare two runs; the bounds come from a bootstrap over blocks of neighbouring steps.

    Raises InputError for an unknown metric and NotComparable where the runs did different things.
    """
    if metric not in METRICS:
        raise InputError(f"no metric {metric}; there are {', '.join(METRICS)}")
    _must_be_comparable(base, new)
    statistic = METRICS[metric]
    base_steps, new_steps = _steps(base), _steps(new)
    base_ns, new_ns = float(statistic(base_steps)), float(statistic(new_steps))
    low, high = _bounds(base_steps, new_steps, statistic)
    return Comparison(
        metric=metric,
        base=base,
        new=new,
        base_ns=base_ns,
        new_ns=new_ns,
        base_count=base_steps.size,
        new_count=new_steps.size,
        change=new_ns / base_ns - 1,
        change_low=low,
        change_high=high,
        max_regression=max_regression,
        decision=_decision(low, high, max_regression),
    )


def _decision(low: float | None, high: float | None, allowed: float | None) -> Literal["passed", "failed", "undecided"] | None:
    if allowed is None:
        return None
    if low is None or high is None:
        return "undecided"
    return "passed" if high <= allowed else "failed" if low > allowed else "undecided"


def _must_be_comparable(base: Report, new: Report) -> None:
    one, two = base.summary, new.summary
    if one.step_time is None or two.step_time is None:
        side = "BASE" if one.step_time is None else "NEW"
        raise NotComparable(f"{side} has no step times: no steps were found in it")
    pairs = [
        ("device", one.device, two.device),
        ("device count", one.device_count, two.device_count),
        ("batch size", one.batch_size, two.batch_size),
        ("world size", one.world_size, two.world_size),
        ("step times", *("profiled" if time.profiled else "unprofiled" for time in (one.step_time, two.step_time))),
    ]
    if base.manifest is not None and new.manifest is not None:
        pairs.append(("workload", one.label, two.label))
    different = [f"{name} ({a} against {b})" for name, a, b in pairs if a is not None and b is not None and a != b]
    if different:
        raise NotComparable(f"the runs differ in {', '.join(different)}")


def _steps(report: Report) -> Steps:
    """Return the per-step times in ns, in order: of the unprofiled steps where the report speaks of those."""
    try:
        frame = report.table("step_time").drop_nulls("step_ns")
    except MissingData as error:
        raise NotComparable(f"{report.source} has no per-step times: {error}") from error
    profiled = report.summary.step_time is not None and report.summary.step_time.profiled
    steps = frame.filter(pl.col("profiled") == profiled)["step_ns"].cast(float).to_numpy()
    if not steps.size or steps.mean() <= 0:
        raise NotComparable(f"{report.source} has no step times above zero")
    return np.asarray(steps)


def _bounds(base: Steps, new: Steps, statistic: Callable[[Steps], Steps]) -> tuple[float | None, float | None]:
    """Bounds of the relative change, or None where there are too few steps."""
    if min(base.size, new.size) < FEWEST_STEPS:
        return None, None
    random = np.random.default_rng(SEED)
    changes = _resampled(new, statistic, random) / _resampled(base, statistic, random) - 1
    change = float(statistic(new) / statistic(base)) - 1
    low, high = np.quantile(changes, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return min(float(low), change), max(float(high), change)


def _resampled(steps: Steps, statistic: Callable[[Steps], Steps], random: np.random.Generator) -> Steps:
    """Return the statistic of many resamples; blocks keep what neighbouring steps have in common."""
    count = steps.size
    block = max(1, round(count ** (1 / 3)))
    at_once = max(1, VALUES_AT_ONCE // count)
    drawn = [
        statistic(steps[_blocks(min(at_once, RESAMPLES - done), count, block, random)]) for done in range(0, RESAMPLES, at_once)
    ]
    return statistic(steps) + (np.concatenate(drawn) - statistic(steps)) * _widening(count)


def _blocks(resamples: int, count: int, block: int, random: np.random.Generator) -> NDArray[np.int64]:
    starts = random.integers(0, count, size=(resamples, -(-count // block)))
    return ((starts[:, :, None] + np.arange(block)) % count).reshape(resamples, -1)[:, :count]


def _widening(count: int) -> float:
    """Return what a bootstrap of few values understates: variance by n/(n-1), tails by Student's t over normal."""
    normal, freedom = 1.96, count - 1
    student = normal + (normal**3 + normal) / (4 * freedom)
    student += (5 * normal**5 + 16 * normal**3 + 3 * normal) / (96 * freedom**2)
    return float(np.sqrt(count / freedom) * student / normal)
