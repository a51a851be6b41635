"""How close do matrix products and convolutions come to the device's peak?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._first_device import first_device
from analyze.analyses._launched_within import launched_within
from analyze.analyses._matrix_flops import matrix_flops
from analyze.errors import MissingData
from analyze.kernel_kinds import with_matrix_precision
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("op", pl.Categorical, "", "operator"),
    Column("input_shapes", pl.Categorical, "", "input shapes, JSON text"),
    Column("input_types", pl.Categorical, "", "input element types, JSON text"),
    Column("kernel", pl.Categorical, "", "kernel that takes most of the time"),
    Column("precision", pl.String, "", "of the multiplication, from the kernel's name; null where it does not tell"),
    Column("tensor_core", pl.Boolean, "", "matrix units used, from the kernel's name"),
    Column("calls", pl.Int64, "", "calls with matrix kernels"),
    Column("flops", pl.Float64, "FLOP", "floating-point operations of all calls; null where the shapes do not tell"),
    Column("device_ns", pl.Int64, "ns", "summed duration of their matrix kernels"),
    Column("flops_per_s", pl.Float64, "FLOP/s", "achieved rate"),
    Column("peak_flops_per_s", pl.Float64, "FLOP/s", "dense peak of that precision; null where the device is not known"),
    Column("peak_fraction", pl.Float64, "", "achieved share of the peak"),
)

MATRIX_KINDS = ("gemm", "convolution")


def gemm_efficiency(
    cpu_ops: pl.DataFrame,
    op_arguments: pl.DataFrame,
    launches: pl.DataFrame,
    kernels: pl.DataFrame,
    trace_info: TraceInfo | None = None,
) -> pl.DataFrame:
    """Matrix operators by shapes, types and kernel, most device time first. Splitting and reducing kernels count in."""
    operators = matrix_flops(cpu_ops, op_arguments).filter(pl.col("family").is_in(MATRIX_KINDS))
    work = device_work(kernels.filter(pl.col("kind").cast(pl.String).is_in(MATRIX_KINDS)))
    timed = launched_within(operators, launches, work).filter(pl.col("device_ns") > 0)
    if timed.is_empty():
        raise MissingData("no matrix kernel can be traced back to an operator with shapes")
    longest = (
        work.drop_nulls("op_id")
        .sort("dur_ns", descending=True)
        .unique("op_id", keep="first", maintain_order=True)
        .select(id="op_id", kernel="name")
    )
    # the kernel is often launched by an operator inside: a convolution's by cuDNN's
    inner = cpu_ops.select(inner_id="id", id="parent_id").join(longest.rename({"id": "inner_id"}), on="inner_id")
    nested = inner.drop_nulls("id").unique("id", keep="first", maintain_order=True).select("id", nested="kernel")
    second = cpu_ops.select(inner_id="id", id="parent_id").join(nested.rename({"id": "inner_id"}), on="inner_id")
    deeper = second.drop_nulls("id").unique("id", keep="first", maintain_order=True).select("id", deeper="nested")
    named = timed
    for frame in (longest, nested, deeper):
        named = named.join(frame, on="id", how="left", maintain_order="left")
    named = named.with_columns(kernel=pl.coalesce("kernel", "nested", "deeper"))
    told = with_matrix_precision(named.select(name="kernel").unique()).rename({"name": "kernel"})
    hardware = first_device(trace_info)
    peak = {} if hardware is None else dict(hardware.flops)
    return (
        named.group_by("name", "input_shapes", "input_types", "kernel")
        .agg(
            calls=pl.len().cast(pl.Int64),
            flops=pl.when(pl.col("flops").null_count() == 0).then(pl.col("flops").sum()),
            device_ns=pl.col("device_ns").sum(),
        )
        .join(told, on="kernel", how="left", nulls_equal=True)
        .rename({"name": "op"})
        .with_columns(
            flops_per_s=pl.col("flops") / pl.col("device_ns") * 1e9,
            peak_flops_per_s=pl.col("precision").replace_strict(peak, default=None, return_dtype=pl.Float64),
        )
        .with_columns(peak_fraction=pl.col("flops_per_s") / pl.col("peak_flops_per_s"))
        .sort("device_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
