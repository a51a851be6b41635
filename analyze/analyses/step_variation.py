"""Which steps took unusually long, and what was different in them?"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("step", pl.Int64, "", "step"),
    Column("profiled", pl.Boolean, "", "measured while the profiler recorded; compared with its like only"),
    Column("step_ns", pl.Int64, "ns", "step time"),
    Column("above_median_ns", pl.Float64, "ns", "step time less the median of steps measured alike"),
    Column("outlier", pl.Boolean, "", "above the median by OUTLIER_DEVIATIONS robust deviations and by OUTLIER_FRACTION of it"),
    Column("busy_above_ns", pl.Float64, "ns", "device busy time above its median; null without a device or unprofiled"),
    Column("blocked_above_ns", pl.Float64, "ns", "host time in synchronising calls and copies above its median"),
    Column("allocation_above_ns", pl.Float64, "ns", "host time in driver allocations and frees above its median"),
    Column("input_wait_above_ns", pl.Float64, "ns", "wait for input above its median; null where not measured"),
    Column("launch_count_above", pl.Float64, "", "launches above their median"),
    Column(
        "differs_in", pl.String, "", "what explains most of an outlier: busy, blocked, allocation, input_wait, other; null else"
    ),
)

#: 1.4826 median absolute deviations are one standard deviation of a normal distribution
ROBUST = 1.4826
OUTLIER_DEVIATIONS = 4.0
#: very even runs have tiny deviations: an outlier must matter as well
OUTLIER_FRACTION = 0.1
#: fewer steps of a kind have no usual
MIN_STEPS = 3
#: the cause must account for this share of what the step took longer, else it is 'other'
MIN_EXPLAINED = 0.4
CAUSES = ("input_wait", "allocation", "blocked", "busy")


def step_variation(
    step_time: pl.DataFrame,
    gpu_busy: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Every step against the median of the steps measured alike; a slow step's causes are medians' differences too."""
    if step_time.is_empty():
        raise MissingData("no step times are known")
    measured = _with_device(step_time, gpu_busy)
    measured = _with_host(measured, launches)
    measured = _with_input(measured, input_wait)
    above = [_above("step_ns").alias("above_median_ns"), _above("busy_ns").alias("busy_above_ns")]
    above += [_above(f"{name}_ns").alias(f"{name}_above_ns") for name in ("blocked", "allocation", "wait")]
    spread = (pl.col("step_ns") - pl.col("step_ns").median()).abs().median().over("profiled") * ROBUST
    usual = pl.col("step_ns").median().over("profiled")
    outlier = (
        (pl.col("above_median_ns") > OUTLIER_DEVIATIONS * spread)
        & (pl.col("above_median_ns") > OUTLIER_FRACTION * usual)
        & (pl.len().over("profiled") >= MIN_STEPS)
    )
    return (
        measured.with_columns(*above, launch_count_above=_above("launch_count"))
        .rename({"wait_above_ns": "input_wait_above_ns"})
        .with_columns(outlier=outlier)
        .with_columns(differs_in=pl.when("outlier").then(_largest_cause()))
        .select(column.name for column in COLUMNS)
    )


def _above(column: str) -> pl.Expr:
    return pl.col(column) - pl.col(column).median().over("profiled")


def _largest_cause() -> pl.Expr:
    """The most specific cause that explains enough: a slow allocation is blocked host time too."""
    cause: pl.Expr = pl.lit("other")
    for name in reversed(CAUSES):
        enough = pl.col(f"{name}_above_ns") >= MIN_EXPLAINED * pl.col("above_median_ns")
        cause = pl.when(enough.fill_null(value=False)).then(pl.lit(name)).otherwise(cause)
    return cause


def _with_device(step_time: pl.DataFrame, gpu_busy: pl.DataFrame | None) -> pl.DataFrame:
    if gpu_busy is None:
        return step_time.with_columns(busy_ns=pl.lit(None, dtype=pl.Float64))
    busy = gpu_busy.group_by("step").agg(busy_ns=pl.col("busy_ns").max().cast(pl.Float64), profiled=pl.lit(value=True).first())
    return step_time.join(busy, on=["step", "profiled"], how="left", maintain_order="left")


def _with_host(step_time: pl.DataFrame, launches: pl.DataFrame | None) -> pl.DataFrame:
    names = ("blocked_ns", "allocation_ns", "launch_count")
    if launches is None:
        return step_time.with_columns(pl.lit(None, dtype=pl.Float64).alias(name) for name in names)
    blocking = pl.col("blocking").cast(pl.String)
    per_step = (
        launches.drop_nulls("step")
        .group_by("step")
        .agg(
            blocked_ns=pl.col("dur_ns").filter(blocking.is_in(["device", "stream", "event", "copy"])).sum().cast(pl.Float64),
            allocation_ns=pl.col("dur_ns").filter(blocking.is_in(["allocation", "free"])).sum().cast(pl.Float64),
            launch_count=(pl.col("work_count") > 0).sum().cast(pl.Float64),
        )
        .with_columns(profiled=pl.lit(value=True))
    )
    return step_time.join(per_step, on=["step", "profiled"], how="left", maintain_order="left")


def _with_input(step_time: pl.DataFrame, input_wait: pl.DataFrame | None) -> pl.DataFrame:
    """The step log's wait where it has one, else the trace's."""
    logged = pl.col("input_wait_ns").cast(pl.Float64)
    if input_wait is None:
        return step_time.with_columns(wait_ns=logged)
    traced = input_wait.drop_nulls("step").group_by("step").agg(traced_ns=pl.col("dur_ns").sum().cast(pl.Float64))
    joined = step_time.join(traced, on="step", how="left", maintain_order="left")
    in_trace = pl.when("profiled").then(pl.col("traced_ns").fill_null(0))
    return joined.with_columns(wait_ns=pl.coalesce(logged, in_trace))
