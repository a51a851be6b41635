"""Which telemetry samples were taken while steps ran? Shared by what sums up devices and hosts."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData

#: fewer samples than this say nothing about a run; the fastest probe samples five times a second
MIN_SAMPLES = 5
#: steps that count where there are enough of them: settled, and not slowed by the profiler
UNPROFILED = ("baseline",)
#: steps in which compilation, algorithm search and cold caches are measured, not training
WARM_UP = ("settling",)
#: what a source samples
SAMPLED = {"nvml": "a GPU", "psutil": "the host"}


def step_samples(telemetry: pl.DataFrame, step_log: pl.DataFrame, source: str) -> pl.DataFrame:
    """Samples of one source within unprofiled steps, else within any settled ones; text columns as text.

    Raises MissingData where the source was not sampled, or too rarely for so short a run.
    """
    texts = pl.col("host", "source", "device_uuid", "metric", "unit").cast(pl.String)
    sampled = telemetry.with_columns(texts).filter(pl.col("source") == source).drop_nulls("value").sort("time_ns")
    if sampled.is_empty():
        raise MissingData(f"the telemetry holds no samples of {SAMPLED[source]}")
    phase = pl.col("phase").cast(pl.String)
    found = _within(sampled, step_log.filter(phase.is_in(UNPROFILED)))
    if found["time_ns"].n_unique() < MIN_SAMPLES:
        found = _within(sampled, step_log.filter(~phase.is_in(WARM_UP)))
    if found["time_ns"].n_unique() < MIN_SAMPLES:
        raise MissingData(f"only {found['time_ns'].n_unique()} samples of {SAMPLED[source]} fall within the steps")
    return found


def _within(samples: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    spans = steps.select(step_start_ns="start_ns", step_end_ns=pl.col("start_ns") + pl.col("dur_ns")).sort("step_start_ns")
    placed = samples.join_asof(spans, left_on="time_ns", right_on="step_start_ns", strategy="backward")
    return placed.filter(pl.col("time_ns") <= pl.col("step_end_ns")).drop("step_start_ns", "step_end_ns", strict=False)


def measured(metric: str) -> pl.Expr:
    """Values of one metric, inside a group of samples."""
    return pl.col("value").filter(pl.col("metric") == metric)
