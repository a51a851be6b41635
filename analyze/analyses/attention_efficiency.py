"""How fast does attention run, and which implementation does it use?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._first_device import first_device
from analyze.analyses._launched_within import launched_within
from analyze.analyses._matrix_flops import matrix_flops
from analyze.errors import MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("op", pl.Categorical, "", "operator"),
    Column("implementation", pl.String, "", "flash, efficient, cudnn, math"),
    Column("backward", pl.Boolean, "", "the backward operator"),
    Column("input_shapes", pl.Categorical, "", "input shapes, JSON text"),
    Column("precision", pl.String, "", "of the inputs"),
    Column("calls", pl.Int64, "", "calls"),
    Column("flops", pl.Float64, "FLOP", "floating-point operations of all calls; null where not known (math)"),
    Column("device_ns", pl.Int64, "ns", "summed duration of everything they launched"),
    Column("flops_per_s", pl.Float64, "FLOP/s", "achieved rate"),
    Column("peak_flops_per_s", pl.Float64, "FLOP/s", "dense peak of that precision; null where the device is not known"),
    Column("peak_fraction", pl.Float64, "", "achieved share of the peak"),
)

ATTENTION = r"^aten::_scaled_dot_product_(\w+?)_?attention(_math)?(_backward)?$|^aten::_scaled_dot_product_attention_math$"
PRECISION = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64"}


def attention_efficiency(
    cpu_ops: pl.DataFrame,
    launches: pl.DataFrame,
    kernels: pl.DataFrame,
    op_arguments: pl.DataFrame | None = None,
    trace_info: TraceInfo | None = None,
) -> pl.DataFrame:
    """Attention operators of torch by shapes, most device time first. Without shapes there are times, but no rates."""
    operators = _operators(cpu_ops, op_arguments)
    timed = launched_within(operators, launches, device_work(kernels)).filter(pl.col("device_ns") > 0)
    if timed.is_empty():
        raise MissingData("no attention operator (scaled_dot_product_attention) ran on a device")
    hardware = first_device(trace_info)
    peak = dict(hardware.flops) if hardware is not None else {}
    # fp32 inputs may be multiplied as TF32: the name does not tell, the higher ceiling is the cautious one
    peak["fp32"] = peak.get("tf32", peak.get("fp32", float("nan")))
    first_type = pl.col("input_types").cast(pl.String).str.extract(r'"([^"]+)"')
    return (
        timed.with_columns(op="name", precision=first_type.replace_strict(PRECISION, default=None, return_dtype=pl.String))
        .group_by("op", "implementation", "backward", "input_shapes", "precision")
        .agg(
            calls=pl.len().cast(pl.Int64),
            flops=pl.when(pl.col("flops").null_count() == 0).then(pl.col("flops").sum()),
            device_ns=pl.col("device_ns").sum(),
        )
        .with_columns(
            flops_per_s=pl.col("flops") / pl.col("device_ns") * 1e9,
            peak_flops_per_s=pl.col("precision").replace_strict(peak, default=None, return_dtype=pl.Float64).fill_nan(None),
        )
        .with_columns(peak_fraction=pl.col("flops_per_s") / pl.col("peak_flops_per_s"))
        .sort("device_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )


def _operators(cpu_ops: pl.DataFrame, op_arguments: pl.DataFrame | None) -> pl.DataFrame:
    name = pl.col("name").cast(pl.String)
    found = cpu_ops.filter(name.str.contains(ATTENTION)).drop("input_shapes", "input_types", "concrete_inputs")
    if op_arguments is None:
        empty = pl.lit(None, dtype=pl.Categorical)
        shaped = found.with_columns(input_shapes=empty, input_types=empty, flops=pl.lit(None, dtype=pl.Float64))
    else:
        flops = matrix_flops(cpu_ops, op_arguments).select("id", "flops")
        shaped = found.join(op_arguments.select("id", "input_shapes", "input_types"), on="id", how="left").join(
            flops, on="id", how="left"
        )
    implementation = (
        pl.when(name.str.contains("_math"))
        .then(pl.lit("math"))
        .otherwise(name.str.extract(r"_scaled_dot_product_(flash|efficient|cudnn)"))
        .fill_null("other")
    )
    return shaped.with_columns(implementation=implementation, backward=name.str.ends_with("_backward"))
