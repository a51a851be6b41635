"""How long does a step take in each cell, and how many images a second is that?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.resampling import FEWEST_STEPS, bounds, generator, resampled
from analyze.schema import Column
from analyze.study.stretch import stretch
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("steps", pl.Int64, "", "measured steps, without the profiler"),
    Column("images", pl.Int64, "", "images in them"),
    Column("stretch_s", pl.Float64, "s", "how long they took together"),
    Column("step_ms", pl.Float64, "ms", "mean step time"),
    Column("step_p10_ms", pl.Float64, "ms", "a tenth of the steps is faster"),
    Column("step_p90_ms", pl.Float64, "ms", "a tenth of the steps is slower"),
    Column("input_wait_share", pl.Float64, "", "share of the time spent waiting for the next batch; null where not measured"),
    Column("images_per_s", pl.Float64, "1/s", "images by time"),
    Column("images_per_s_low", pl.Float64, "1/s", "lower end of the interval; null with too few steps"),
    Column("images_per_s_high", pl.Float64, "1/s", "upper end of it"),
)


def throughput(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per cell with measured steps; intervals hold the mean in 95 of 100 cases."""
    return frame((row for row in map(_row, cells) if row is not None), COLUMNS)


def _row(cell: Measured) -> dict[str, Any] | None:
    steps = stretch(cell.step_log)
    if steps.is_empty():
        return None
    dur_s = steps["dur_ns"].to_numpy() / 1e9
    known = steps["samples"].null_count() == 0
    images = int(steps["samples"].sum()) if known else steps.height * cell.batch_size
    rate, low, high = images / dur_s.sum(), None, None
    if steps.height >= FEWEST_STEPS:
        low, high = bounds(images / steps.height / resampled(dur_s, lambda one: one.mean(axis=-1), generator()), rate)
    p10, p90 = np.quantile(dur_s, [0.1, 0.9])
    waited = steps["input_wait_ns"]
    return {
        **named(cell),
        "steps": steps.height,
        "images": images,
        "stretch_s": float(dur_s.sum()),
        "step_ms": float(dur_s.mean() * 1e3),
        "step_p10_ms": float(p10 * 1e3),
        "step_p90_ms": float(p90 * 1e3),
        "input_wait_share": min(float(waited.sum()) / 1e9 / float(dur_s.sum()), 1.0) if not waited.null_count() else None,
        "images_per_s": float(rate),
        "images_per_s_low": low,
        "images_per_s_high": high,
    }
