"""How far do kernels of several streams run at once? As far as they were recorded to, and no further.

The replay knows when a kernel may start, not how much of the device it fills. Without its waits a window of many streams
would play with all of them at once; on a device they share what one of them fills already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.intervals import merge, total

if TYPE_CHECKING:
    from analyze.replay.program import Floats, Ints, Program


@dataclass(frozen=True, kw_only=True)
class Concurrency:
    """By work of a program: its device, and the device's busy time over its kernels' summed time.

    The share is 1 where kernels never overlapped, and 0 for copies and collectives, which run beside kernels on purpose.
    """

    device: Ints
    busy_share: Floats

    def floor_ns(self, program: Program) -> float:
        """Busy time per step of the busiest device, were the program's kernels to overlap as far as recorded."""
        if not self.device.size:
            return 0.0
        kept = program.work_dur * program.work_keep * self.busy_share
        return float(np.bincount(self.device, weights=kept).max()) / program.steps


def concurrency(program: Program, kernels: pl.DataFrame | None) -> Concurrency:
    """Concurrency of the program's kernels as they were recorded."""
    device, share = np.zeros(program.work_id.size, np.int64), np.zeros(program.work_id.size)
    if kernels is not None:
        work = pl.DataFrame({"id": program.work_id, "row": np.arange(program.work_id.size)})
        computing = kernels.filter(pl.col("kind").cast(pl.String) != "collective", pl.col("dur_ns") > 0)
        for number, group in enumerate(computing.join(work, on="id").partition_by("device")):
            rows, start, duration = (group[name].to_numpy() for name in ("row", "start_ns", "dur_ns"))
            device[rows] = number
            share[rows] = total(merge(start, start + duration)) / duration.sum()
    return Concurrency(device=device, busy_share=share)
