"""How much faster is one device than another, at the same batch size, and how sure is that?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.resampling import FEWEST_STEPS, bounds, generator, resampled
from analyze.scalars import number
from analyze.schema import Column
from analyze.study.stretch import stretch
from analyze.study.tables._cells import frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    Column("mode", pl.String, "", "train or infer"),
    Column("batch_size", pl.Int64, "", "images per step"),
    Column("base", pl.String, "", "device that is compared with"),
    Column("device", pl.String, "", "device that is compared"),
    Column("speed_up", pl.Float64, "", "step time on base divided by step time on device: below 1 the device is slower"),
    Column("speed_up_low", pl.Float64, "", "lower end of the interval; null with too few steps"),
    Column("speed_up_high", pl.Float64, "", "upper end of it"),
    Column(
        "input_wait_share", pl.Float64, "", "share of device's time spent waiting for the next batch; null where not measured"
    ),
    Column("work_speed_up", pl.Float64, "", "the ratio of steps less their waits for the next batch; null likewise"),
)
BASE = "cpu"


def speed_up(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per mode and batch size that ran on the CPU and on another device."""
    pairs = [
        (base, other)
        for base in cells
        for other in cells
        if base.device == BASE and other.device != BASE and (base.mode, base.batch_size) == (other.mode, other.batch_size)
    ]
    return frame((row for row in (_row(*pair) for pair in pairs) if row is not None), COLUMNS)


def _row(base: Measured, other: Measured) -> dict[str, Any] | None:
    steps = [stretch(cell.step_log) for cell in (base, other)]
    slow, fast = (one["dur_ns"].cast(pl.Float64).to_numpy() for one in steps)
    if not slow.size or not fast.size or fast.mean() <= 0:
        return None
    found: dict[str, Any] = {"speed_up": float(slow.mean() / fast.mean()), **_less_waiting(*steps)}
    if min(slow.size, fast.size) >= FEWEST_STEPS:
        random = generator()
        drawn = [resampled(steps, lambda one: one.mean(axis=-1), random) for steps in (slow, fast)]
        found["speed_up_low"], found["speed_up_high"] = bounds(drawn[0] / drawn[1], found["speed_up"])
    return {"mode": base.mode, "batch_size": base.batch_size, "base": base.device, "device": other.device, **found}


def _less_waiting(slow: pl.DataFrame, fast: pl.DataFrame) -> dict[str, float | None]:
    """What is known of the waits for input, which say more of the loading than of the device."""
    if slow["input_wait_ns"].null_count() or fast["input_wait_ns"].null_count():
        return {}
    slow_ns, fast_ns = (number((steps["dur_ns"] - steps["input_wait_ns"]).mean()) for steps in (slow, fast))
    share = min(number(fast["input_wait_ns"].sum()) / number(fast["dur_ns"].sum()), 1.0)
    return {"input_wait_share": share, "work_speed_up": slow_ns / fast_ns if min(slow_ns, fast_ns) > 0 else None}
