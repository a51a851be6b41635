"""An edit beside faster device work: launches that waited for room in the device's queue no longer do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from analyze.replay.program import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.replay.program import Program
    from analyze.replay.replay import Replay

    Edit = Callable[[Program], Program]

#: a launch this many times the median, far ahead of the device, was waiting for room
LONG_LAUNCH_FACTOR = 5
#: how far the launched work must lie behind the launch; a short queue is never full
FAR_BEHIND_NS = 1_000_000.0


def without_queue_waits(replay: Replay) -> Edit:
    """Long launches whose work began far later cost the median: the device, now faster, had them wait.

    The queue may have been filled by work launched before the window, so how full it was cannot be counted.
    """
    program, played = replay.program, replay.profiled
    first = np.searchsorted(program.work_call, np.arange(program.cost.size))
    launches = (first < np.searchsorted(program.work_call, np.arange(program.cost.size), side="right")) & (
        program.waits == NOTHING
    )
    behind = np.zeros(program.cost.size)
    behind[launches] = played.work_start[first[launches]] - played.call_end[launches]
    usual = float(np.median(program.cost[launches])) if launches.any() else 0.0
    waited = launches & (program.cost > LONG_LAUNCH_FACTOR * usual) & (behind > FAR_BEHIND_NS)

    def edit(now: Program) -> Program:
        return replace(now, cost=np.where(waited, np.minimum(now.cost, usual), now.cost))

    return edit
