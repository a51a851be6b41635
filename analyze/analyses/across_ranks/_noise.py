"""How large may a difference between ranks be by chance, in so few steps?

Student's t on each rank's excess over the steps. Variances are pooled over ranks, as a few steps tell little about one rank's; a
rank that varies more than the others is held to its own. Steps that resemble their neighbours count for fewer. A single step that
stands out is moved to where the others end, so that neither a habit is hidden by it nor one made of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: of runs in which all ranks are alike, this share would have one named
FALSE_ALARMS = 0.005
#: with fewer steps none can be said to stand out
CLIPPED_FROM_STEPS = 5
#: a step stands out beyond this many standard deviations, judged by the median distance from the median
CLIPPED_BEYOND, DEVIATION_OF_MAD = 3.0, 1.4826
#: neighbouring steps that are more alike than this say nothing that could be counted
MOST_ALIKE = 0.9
#: points of the integral that gives Student's distribution
POINTS = 20_001
#: with more degrees of freedom it is as good as normal
NEARLY_NORMAL = 10_000


def chance(excess: Floats, looks: int = 1) -> tuple[Floats, Floats, float]:
    """Mean excess of each rank, its standard error, and how many of those chance may reach; excess is ranks x steps.

    `looks` is how many such questions are asked of the same run, which share the false alarms.
    """
    ranks, steps = excess.shape
    settled = _settled(excess)
    mean = settled.mean(axis=1)
    left = settled - mean[:, None]
    variance = (left**2).sum(axis=1) / (steps - 1)
    total = float((left**2).sum())
    # an estimate from few steps is too low by about one over their number
    alike = float((left[:, 1:] * left[:, :-1]).sum()) / total + 1 / steps if total else 0.0
    alike = min(max(alike, 0.0), MOST_ALIKE)
    counted = steps * (1 - alike) / (1 + alike)
    error: Floats = np.sqrt(np.maximum(variance, variance.mean()) / counted)
    return mean, error, students_t(FALSE_ALARMS / looks / ranks, (ranks - 1) * (steps - 1))


def _settled(excess: Floats) -> Floats:
    """The excess with single steps that stand out moved to where the others end."""
    if excess.shape[1] < CLIPPED_FROM_STEPS:
        return excess
    middle = np.median(excess, axis=1, keepdims=True)
    reach = CLIPPED_BEYOND * DEVIATION_OF_MAD * np.median(np.abs(excess - middle), axis=1, keepdims=True)
    settled: Floats = np.clip(excess, middle - reach, middle + reach)
    return settled


def students_t(tail: float, freedom: int) -> float:
    """Value that Student's t exceeds with this probability.

    With t = sqrt(freedom) tan(angle), its density goes with cos(angle) ** (freedom - 1).
    """
    angle = np.linspace(0.0, math.pi / 2, POINTS)
    density = np.cos(angle) ** (min(freedom, NEARLY_NORMAL) - 1)
    beyond = np.cumsum((density[1:] + density[:-1])[::-1])[::-1]
    share = np.append(beyond, 0.0) / (2 * beyond[0])
    found = float(np.interp(-tail, -share, angle))
    return math.sqrt(min(freedom, NEARLY_NORMAL)) * math.tan(found)
