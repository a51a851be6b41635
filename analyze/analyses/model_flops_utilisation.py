"""What share of the device's peak do the step's matrix operations reach over the whole step?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._first_device import first_device
from analyze.analyses._matrix_flops import matrix_flops
from analyze.errors import MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("step", pl.Int64, "", "step; null for the mean over the profiled steps"),
    Column("flops", pl.Float64, "FLOP", "of matrix products, convolutions and attention; recomputation counts as work done"),
    Column("unknown_ops", pl.Int64, "", "such operators whose shapes do not tell, left out: the figure is then too low"),
    Column("step_ns", pl.Float64, "ns", "step time; the mean row has the unprofiled one where known"),
    Column("profiled", pl.Boolean, "", "step_ns was measured while the profiler recorded"),
    Column(
        "precision", pl.String, "", "precision of the peak: that of most operations' inputs, TF32 where it is fp32 and possible"
    ),
    Column("flops_per_s", pl.Float64, "FLOP/s", "operations by step time"),
    Column("peak_flops_per_s", pl.Float64, "FLOP/s", "dense peak of that precision; null where the device is not known"),
    Column("utilisation", pl.Float64, "", "share of the peak"),
)

PRECISION = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64"} | {
    f"c10::Float8_{kind}": "fp8" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")
}


def model_flops_utilisation(
    cpu_ops: pl.DataFrame, op_arguments: pl.DataFrame, step_time: pl.DataFrame, trace_info: TraceInfo | None = None
) -> pl.DataFrame:
    """Every profiled step, then their mean."""
    operators = matrix_flops(cpu_ops, op_arguments).drop_nulls("step")
    per_step = operators.group_by("step").agg(pl.col("flops").sum(), unknown_ops=pl.col("flops").null_count().cast(pl.Int64))
    steps = step_time.filter("profiled").select("step", pl.col("step_ns").cast(pl.Float64)).join(per_step, on="step")
    if steps.is_empty() or not steps["flops"].sum():
        raise MissingData("no step holds matrix operators with shapes")
    unprofiled = step_time.filter(~pl.col("profiled"))["step_ns"].mean()
    mean = steps.select(
        pl.lit(None, dtype=pl.Int64).alias("step"),
        pl.col("step_ns").mean() if unprofiled is None else pl.lit(unprofiled, dtype=pl.Float64).alias("step_ns"),
        pl.col("flops").mean(),
        pl.col("unknown_ops").sum(),
    ).with_columns(profiled=pl.lit(unprofiled is None))
    precision, peak = _peak(operators, trace_info)
    rate = pl.when(pl.col("step_ns") > 0).then(pl.col("flops") / pl.col("step_ns") * 1e9)
    return (
        pl.concat([steps.with_columns(profiled=pl.lit(value=True)).select(mean.columns).sort("step"), mean])
        .with_columns(
            flops_per_s=rate,
            precision=pl.lit(precision, dtype=pl.String),
            peak_flops_per_s=pl.lit(peak, dtype=pl.Float64),
        )
        .with_columns(utilisation=pl.col("flops_per_s") / pl.col("peak_flops_per_s"))
        .select(column.name for column in COLUMNS)
    )


def _peak(operators: pl.DataFrame, trace_info: TraceInfo | None) -> tuple[str | None, float | None]:
    """Precision that carries most operations, and the device's peak for it."""
    first_type = pl.col("input_types").cast(pl.String).str.extract(r'"([^"]+)"')
    most = (
        operators.with_columns(precision=first_type.replace_strict(PRECISION, default=None, return_dtype=pl.String))
        .drop_nulls("precision")
        .group_by("precision")
        .agg(pl.col("flops").sum())
        .sort("flops", "precision", descending=[True, False])
    )
    if most.is_empty():
        return None, None
    precision: str = most["precision"][0]
    hardware = first_device(trace_info)
    if precision == "fp32" and hardware is not None and hardware.peak("tf32") is not None:
        precision = "tf32"
    return precision, hardware.peak(precision) if hardware is not None else None
