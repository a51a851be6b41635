"""What would the recorded host times have been, had the recorded steps been as even as the unprofiled ones?

The cost of recording is the same for every step of the same events. Where recorded steps differ by more than unprofiled ones,
something else slowed some of them down: threads that had to be woken, another process. Each stretch of the step was seen once
a step, and its excess over the shortest is what that added.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from analyze.replay.program import Floats, Ints, Program


def usual_excess(recorded_ns: Floats, unprofiled_ns: Floats) -> float:
    """Share (0 to 1) of the recorded steps' excess over the shortest of them that unprofiled steps have too; 1 where unknown.

    Of many steps the shortest is shorter than of few: the unprofiled ones are held against the quantile that as few would show.
    """
    if recorded_ns.size < 2 or unprofiled_ns.size < recorded_ns.size:  # noqa: PLR2004 - one step has no excess
        return 1.0
    excess = float(recorded_ns.mean() - recorded_ns.min())
    usual = float(unprofiled_ns.mean() - np.quantile(unprofiled_ns, 1.0 / (recorded_ns.size + 1)))
    return min(usual / excess, 1.0) if excess > 0 else 1.0


def with_excess(program: Program, step_starts: Ints, share: float) -> Program:
    """The program with this share of each stretch's excess over the shortest such stretch in any step.

    Unchanged where the steps are not the same calls over and over.
    """
    step = np.searchsorted(step_starts, program.call_start[:-1], side="right") - 1
    counts = np.bincount(step[step >= 0], minlength=step_starts.size)
    if share >= 1.0 or (step < 0).any() or np.unique(counts).size != 1:
        return program
    gaps = program.gap[:-1].reshape(step_starts.size, -1)
    shortest = gaps.min(axis=0)
    even = shortest + share * (gaps - shortest)
    return replace(program, gap=np.append(even.ravel(), program.gap[-1]))
