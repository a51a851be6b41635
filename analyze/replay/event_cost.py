"""How much host time does recording one event take, and at which cost does the replay give the unprofiled step?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from analyze.replay.simulate import simulate

if TYPE_CHECKING:
    from analyze.replay.program import Program

#: host time the profiler takes per recorded event, measured at 1.5 to 5 µs with shapes and memory on: never more
MAX_EVENT_COST_NS = 6_000.0
#: what an event usually costs and how far that varies: lean recordings, and those with shapes, memory or stacks
LEAN_EVENT_COST_NS = (1.8e3, 1.2e3)
RICH_EVENT_COST_NS = (2.5e3, 1.4e3)
#: host times of one script on one machine differ by about this much from run to run
RUN_TO_RUN = 0.15
#: the fit ends after this many replays, or when it is this close
FIT_ROUNDS, FIT_TOLERANCE = 12, 0.001
#: a step this close to the fastest that any cost gives is the device's
DEVICE_PACE = 0.005


def event_cost(program: Program, step_ns: float | None, prior: tuple[float, float]) -> tuple[tuple[float, float, float], float]:
    """Range of the cost per recorded event, and the one at which the replay shows the reported step time.

    Two things are known: what recording usually costs (the prior), and, with an unprofiled step time, the cost at which the
    replay gives that time. The latter is as sure as two runs are alike, divided by how far the step depends on it, and the
    two are weighed by their variances. Where the device sets the pace, the step time only says how much it costs at least.
    """
    usual, deviation = prior
    shown = 0.0
    if step_ns is not None:
        recorded, fastest = simulate(program).step_ns, simulate(program, MAX_EVENT_COST_NS).step_ns
        slope = (recorded - simulate(program, usual).step_ns) / usual
        if recorded > step_ns and fastest * (1 + DEVICE_PACE) >= step_ns:
            if recorded > fastest * (1 + DEVICE_PACE):
                shown = _root(program, fastest * (1 + DEVICE_PACE), recorded, fastest)
                usual = _mean_above(shown, usual, deviation)
        elif slope > 0:
            fitted = _root(program, step_ns, recorded, fastest) if recorded > step_ns else (recorded - step_ns) / slope
            shown = max(fitted, 0.0)
            fit_deviation = RUN_TO_RUN * step_ns / slope
            weight = deviation**2 / (deviation**2 + fit_deviation**2)
            usual = max(usual + weight * (fitted - usual), 0.0)
            deviation *= (1 - weight) ** 0.5
        # recording may cost more than usual; that it cost less can also be the unprofiled run's own bad luck
        usual = min(max(usual, shown), MAX_EVENT_COST_NS)
    return (max(usual - deviation, 0.0), usual, min(usual + deviation, MAX_EVENT_COST_NS)), shown


def _mean_above(limit: float, mean: float, deviation: float) -> float:
    """Mean of a normal distribution of which only what lies above the limit is possible."""
    at = (limit - mean) / deviation
    density = math.exp(-at * at / 2) / math.sqrt(2 * math.pi)
    above = (1 - math.erf(at / math.sqrt(2))) / 2
    return max(mean + deviation * density / above, limit) if above > 0 else limit


def _root(program: Program, step_ns: float, recorded: float, fastest: float) -> float:
    """Cost per event at which the replay gives a step time between those without and with the highest cost."""
    low, high, at_low, at_high = 0.0, MAX_EVENT_COST_NS, recorded - step_ns, fastest - step_ns
    for _ in range(FIT_ROUNDS):
        # the step shrinks piecewise linearly: a secant, kept off the ends so that both close in
        middle = low + (high - low) * min(max(at_low / (at_low - at_high), 0.05), 0.95)
        off = simulate(program, middle).step_ns - step_ns
        if abs(off) < FIT_TOLERANCE * step_ns:
            return middle
        low, high, at_low, at_high = (middle, high, off, at_high) if off > 0 else (low, middle, at_low, off)
    return (low + high) / 2
