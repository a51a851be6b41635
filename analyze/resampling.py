"""How far may a figure be off that was made of so many steps? A bootstrap over blocks of neighbouring steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Steps = NDArray[np.float64]

RESAMPLES = 4_000
SEED = 20_230_000
#: keeps the resamples of a long run from filling memory
VALUES_AT_ONCE = 1_000_000
#: the interval holds the true value in this share of cases
COVERAGE = 0.95
#: with fewer steps nothing can be said about their noise
FEWEST_STEPS = 3


def generator() -> np.random.Generator:
    """Random numbers that are the same in every run: a report must not change from one reading to the next."""
    return np.random.default_rng(SEED)


def bounds(values: Steps, around: float) -> tuple[float, float]:
    """Return the interval that resampled values span, the figure itself included."""
    low, high = np.quantile(values, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return min(float(low), around), max(float(high), around)


def resampled(steps: Steps, statistic: Callable[[Steps], Steps], random: np.random.Generator) -> Steps:
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
