"""What did the machine's sensors say during each step?"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("step", pl.Int64, "", "step of the run"),
    Column("phase", pl.Categorical, "", "settling, baseline, times …; null where there is no step log"),
    Column("host", pl.Categorical, "", "host"),
    Column("source", pl.Categorical, "", "nvml, psutil, rapl …"),
    Column("device_uuid", pl.Categorical, "", "device; null for the host"),
    Column("metric", pl.Categorical, "", "what was sampled, the unit in its name"),
    Column("unit", pl.Categorical, "", "unit"),
    Column("samples", pl.Int64, "", "samples taken within the step; steps shorter than the cadence may have none and no row"),
    Column("mean", pl.Float64, "by metric", "mean of the samples; null where unsupported"),
    Column("min", pl.Float64, "by metric", "lowest"),
    Column("max", pl.Float64, "by metric", "highest"),
)


def telemetry_by_step(
    telemetry: pl.DataFrame,
    step_log: pl.DataFrame | None = None,
    step_time: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Samples by the step in which they were taken; a sample at a boundary belongs to the later step. Nothing is interpolated."""
    spans = _spans(step_log, step_time)
    joined = (
        telemetry.sort("time_ns")
        .join_asof(spans, left_on="time_ns", right_on="start_ns", strategy="backward")
        .filter(pl.col("time_ns") < pl.col("end_ns"))
    )
    by = ["step", "phase", "host", "source", "device_uuid", "metric", "unit"]
    found = joined.group_by(by).agg(
        samples=pl.col("value").count().cast(pl.Int64),
        mean=pl.col("value").mean(),
        min=pl.col("value").min(),
        max=pl.col("value").max(),
    )
    if found.is_empty():
        raise MissingData("no telemetry sample was taken during a step")
    return found.sort("step", "source", "device_uuid", "metric").select(column.name for column in COLUMNS)


def _spans(step_log: pl.DataFrame | None, step_time: pl.DataFrame | None) -> pl.DataFrame:
    """Columns step, phase, start_ns, end_ns of every step whose Unix time is known, in order."""
    if step_log is not None:
        logged = step_log.select(
            "step", pl.col("phase").cast(pl.Categorical), "start_ns", end_ns=pl.col("start_ns") + pl.col("dur_ns")
        )
        return logged.drop_nulls("end_ns").sort("start_ns")
    if step_time is None or step_time.is_empty():
        raise MissingData("no step times are known that telemetry could be held against")
    phase = pl.lit(None, dtype=pl.Categorical).alias("phase")
    return step_time.select("step", phase, "start_ns", end_ns=pl.col("start_ns") + pl.col("step_ns")).sort("start_ns")
