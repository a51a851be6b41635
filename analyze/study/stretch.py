"""Which steps of a cell are measured: settled ones without the profiler, in stretches without a break."""

from __future__ import annotations

import numpy as np
import polars as pl

#: phases of the step log that are neither warm-up nor slowed down by a profiler
UNPROFILED = ("baseline",)
#: without any, whatever came after the first steps
SETTLED = ("baseline", "idle", "times")


def stretch(step_log: pl.DataFrame) -> pl.DataFrame:
    """Return the measured steps in order; no rows where there are none."""
    ordered = step_log.drop_nulls("dur_ns").sort("start_ns")
    phase = pl.col("phase").cast(pl.String)
    unprofiled = ordered.filter(phase.is_in(UNPROFILED))
    return unprofiled if not unprofiled.is_empty() else ordered.filter(phase.is_in(SETTLED))


def spans(steps: pl.DataFrame) -> list[tuple[int, int]]:
    """Return (start_ns, end_ns) of each run of consecutive steps: between the baselines lies the profiler."""
    if steps.is_empty():
        return []
    start = steps["start_ns"].to_numpy()
    finish = start + steps["dur_ns"].to_numpy()
    breaks = np.flatnonzero(np.diff(steps["step"].to_numpy()) != 1)
    firsts = np.concatenate([[0], breaks + 1])
    lasts = np.concatenate([breaks, [steps.height - 1]])
    return [(int(start[first]), int(finish[last])) for first, last in zip(firsts, lasts, strict=True)]


def within(samples: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the samples taken during the measured steps; text columns as text."""
    inside = pl.any_horizontal(pl.lit(value=False), *(pl.col("time_ns").is_between(start, end) for start, end in spans(steps)))
    texts = pl.col("host", "source", "device_uuid", "metric", "unit").cast(pl.String)
    return samples.filter(inside).with_columns(texts).drop_nulls("value").sort("time_ns")


def card_names(telemetry: pl.DataFrame | None) -> dict[str, str]:
    """Return 'GPU 0', 'GPU 1' by UUID, in the order in which they were sampled."""
    if telemetry is None:
        return {}
    uuids = telemetry["device_uuid"].cast(pl.String).drop_nulls().unique(maintain_order=True)
    return {uuid: f"GPU {index}" for index, uuid in enumerate(uuids)}
