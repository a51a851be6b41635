"""Whether a change made the step faster or slower, and by more than the noise of the steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from analyze.errors import GateFailed, GateUndecided, InputError, MissingData, NotComparable
from analyze.resampling import FEWEST_STEPS, bounds, generator, resampled

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
    random = generator()
    changes = resampled(new, statistic, random) / resampled(base, statistic, random) - 1
    return bounds(changes, float(statistic(new) / statistic(base)) - 1)
