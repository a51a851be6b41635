"""Telemetry and step logs written sample by sample, so that a test shows its whole run. Times are seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import table

if TYPE_CHECKING:
    import polars as pl

S = 1_000_000_000


def samples(
    source: str, *each: dict[str, float], every_s: float = 1.0, device_uuid: str | None = None, host: str = "h"
) -> pl.DataFrame:
    """Samples from 0 s on, one after another; a metric that is left out of a sample was not measured in it."""
    rows = [
        {
            "time_ns": round(number * every_s * S),
            "host": host,
            "source": source,
            "device_uuid": device_uuid,
            "metric": metric,
            "value": float(value),
            "unit": "",
        }
        for number, sample in enumerate(each)
        for metric, value in sample.items()
    ]
    return table("telemetry", *rows)


def phases(*each: tuple[str, float, float], step_s: float = 1.0, **more: object) -> pl.DataFrame:
    """A step log: steps of step_s from start to end of every (phase, start_s, end_s)."""
    rows = [
        {"rank": 0, "phase": phase, "start_ns": round((start + number * step_s) * S), "dur_ns": round(step_s * S)} | more
        for phase, start, end in each
        for number in range(round((end - start) / step_s))
    ]
    return table("step_log", *({"step": number} | row for number, row in enumerate(rows)))
