"""What does each kernel compute: for which operator, at which precision, on which units, how many operations and bytes?

An operator's operations and bytes are shared by its matrix kernels, those of a passing operator by all its kernels, in
proportion to their durations.
"""

from __future__ import annotations

import polars as pl

from analyze.kernel_kinds import with_matrix_precision
from analyze.schema import Column

COLUMNS = (
    Column("id", pl.Int64, "", "kernel"),
    Column("op_id", pl.Int64, "", "innermost operator around the launch"),
    Column("op", pl.Categorical, "", "name of that operator; null where unknown"),
    Column("name", pl.Categorical, "", "kernel name"),
    Column("kind", pl.Categorical, "", "gemm, convolution, elementwise …"),
    Column("device", pl.Int64, "", "device index"),
    Column("stream", pl.Int64, "", "stream"),
    Column("step", pl.Int64, "", "step in which it was launched"),
    Column("launch_id", pl.Int64, "", "launching call"),
    Column("start_ns", pl.Int64, "ns", "start"),
    Column("dur_ns", pl.Int64, "ns", "duration"),
    Column("input_shapes", pl.Categorical, "", "input shapes of the operator, JSON text; null where unknown"),
    Column("input_strides", pl.Categorical, "", "input strides of the operator, JSON text; null where unknown"),
    Column("concrete_inputs", pl.Categorical, "", "scalar inputs of the operator, JSON text; null where unknown"),
    Column("element_type", pl.String, "", "type of the operator's first floating-point tensor; null if unknown"),
    Column("precision", pl.String, "", "of the arithmetic: by the kernel's name, else the element type"),
    Column("tensor_core", pl.Boolean, "", "runs on matrix units, by its name"),
    Column("m", pl.Int64, "", "rows of a matrix product; null for others"),
    Column("n", pl.Int64, "", "columns of a matrix product"),
    Column("k", pl.Int64, "", "summed dimension of a matrix product"),
    Column("batch", pl.Int64, "", "products in one call"),
    Column("largest_bytes", pl.Float64, "bytes", "largest input of the operator; null where unknown"),
    Column("largest_elements", pl.Int64, "", "elements of that input"),
    Column("flops", pl.Float64, "", "floating-point operations of a matrix product; null for others"),
    Column("bytes", pl.Float64, "bytes", "least traffic of a product, convolution or pass over tensors; null where unknown"),
)

MATRIX_KINDS = ("gemm", "convolution")
#: kernels whose traffic is at least their inputs and one output as large as the largest
STREAMING_KINDS = ("elementwise", "copy", "normalization", "softmax", "pooling")
#: kernels whose name tells the precision of the multiplication
MULTIPLYING_KINDS = (*MATRIX_KINDS, "attention")


def kernel_arithmetic(
    kernels: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_arguments: pl.DataFrame | None = None,
    op_costs: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row per kernel, memsets left out, in the kernels' order."""
    named = with_matrix_precision(kernels.filter(pl.col("kind").cast(pl.String) != "memset"))
    told = _joined(_joined(_joined(named, _names(cpu_ops)), _arguments(op_arguments)), _told(op_costs))
    kind = pl.col("kind").cast(pl.String)
    matrix = kind.is_in(MATRIX_KINDS)
    among_matrix = pl.when(matrix).then(pl.col("dur_ns")).sum().over("op_id")
    among_all = pl.col("dur_ns").sum().over("op_id")
    by_name = pl.when(kind.is_in(MULTIPLYING_KINDS)).then("precision")
    return told.with_columns(
        flops=pl.when(matrix).then(pl.col("flops") * pl.col("dur_ns") / among_matrix),
        bytes=pl.when(matrix)
        .then(pl.coalesce("product_bytes", pl.col("streamed_bytes") * pl.col("dur_ns") / among_matrix))
        .when(kind.is_in(STREAMING_KINDS))
        .then(pl.col("streamed_bytes") * pl.col("dur_ns") / among_all),
        precision=pl.coalesce(by_name, "element_type"),
    ).select(column.name for column in COLUMNS)


def _joined(kernels: pl.DataFrame, by_operator: pl.DataFrame) -> pl.DataFrame:
    return kernels.join(by_operator, on="op_id", how="left", maintain_order="left")


def _names(cpu_ops: pl.DataFrame | None) -> pl.DataFrame:
    if cpu_ops is None:
        return pl.DataFrame(schema={"op_id": pl.Int64, "op": pl.Categorical})
    return cpu_ops.select(op_id="id", op="name")


def _arguments(op_arguments: pl.DataFrame | None) -> pl.DataFrame:
    texts = ("input_shapes", "input_strides", "concrete_inputs")
    if op_arguments is None:
        return pl.DataFrame(schema={"op_id": pl.Int64} | dict.fromkeys(texts, pl.Categorical))
    return op_arguments.select(*texts, op_id="id")


def _told(op_costs: pl.DataFrame | None) -> pl.DataFrame:
    rates = dict.fromkeys(("flops", "product_bytes", "streamed_bytes", "largest_bytes"), pl.Float64)
    numbers = {"element_type": pl.String, **rates}
    sizes = dict.fromkeys(("m", "n", "k", "batch", "largest_elements"), pl.Int64)
    if op_costs is None:
        return pl.DataFrame(schema={"op_id": pl.Int64, **numbers, **sizes})
    return op_costs.select(*numbers, *sizes, op_id="id")
