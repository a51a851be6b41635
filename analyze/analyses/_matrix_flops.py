"""How many floating-point operations does a matrix operator take, from its shapes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

#: matrix products: positions of the two operands among the inputs. Composite operators (linear, matmul) call these
PRODUCTS = {
    "aten::mm": (0, 1),
    "aten::bmm": (0, 1),
    "aten::mv": (0, 1),
    "aten::addmm": (1, 2),
    "aten::addmv": (1, 2),
    "aten::baddbmm": (1, 2),
    "aten::_addmm_activation": (1, 2),
    "aten::_scaled_mm": (0, 1),
    "aten::_int_mm": (0, 1),
}
FORWARD_CONVOLUTION = "aten::convolution"
#: backward convolutions: positions of grad_output and weight. The one of torch before 1.12 names the library
BACKWARD_CONVOLUTIONS = {
    "aten::convolution_backward": (0, 2),
    "aten::cudnn_convolution_backward": (1, 2),
    "aten::miopen_convolution_backward": (1, 2),
}
#: attention in one operator: position of the query, of is_causal among the scalars, products forward or backward
ATTENTION = {
    "aten::_scaled_dot_product_flash_attention": (0, 4, 2.0),
    "aten::_scaled_dot_product_efficient_attention": (0, 6, 2.0),
    "aten::_scaled_dot_product_cudnn_attention": (0, 6, 2.0),
    "aten::_scaled_dot_product_flash_attention_backward": (1, 11, 5.0),
    "aten::_scaled_dot_product_efficient_attention_backward": (1, 11, 5.0),
    "aten::_scaled_dot_product_cudnn_attention_backward": (1, 14, 5.0),
}


def matrix_flops(cpu_ops: pl.DataFrame, op_arguments: pl.DataFrame) -> pl.DataFrame:
    """Columns id, family (gemm, convolution, attention), flops (null where the shapes do not tell), and the arguments' own.

    A multiplication and an addition count as two. Causal attention counts half of the square it masks.
    """
    name = pl.col("name").cast(pl.String)
    family = _by_name(dict.fromkeys(PRODUCTS, "gemm") | dict.fromkeys(ATTENTION, "attention"), pl.String)
    convolution = name.is_in([FORWARD_CONVOLUTION, *BACKWARD_CONVOLUTIONS])
    shaped = (
        cpu_ops.drop("input_shapes", "input_types", "concrete_inputs")
        .with_columns(family=pl.when(convolution).then(pl.lit("convolution")).otherwise(family))
        .drop_nulls("family")
        .join(op_arguments.select("id", "input_shapes", "input_types", "concrete_inputs"), on="id")
    )
    what = ["name", "family", "input_shapes", "concrete_inputs"]
    distinct = shaped.select(what).unique()
    counted = distinct.with_columns(
        flops=pl.when(pl.col("family") == "gemm")
        .then(_product())
        .when(pl.col("family") == "convolution")
        .then(_convolution())
        .otherwise(_attention())
    )
    return shaped.join(counted, on=what, how="left", nulls_equal=True, maintain_order="left")


def _by_name(values: Mapping[str, object], dtype: type[pl.DataType]) -> pl.Expr:
    return pl.col("name").cast(pl.String).replace_strict(values, default=None, return_dtype=dtype)


def _shape(position: pl.Expr | int) -> pl.Expr:
    """Shape of the input at a position as a list; null where there is none."""
    shapes = pl.col("input_shapes").cast(pl.String).str.extract_all(r"\[[\d, ]*\]")
    return shapes.list.get(position, null_on_oob=True).str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Float64))


def _scalar(position: pl.Expr | int) -> pl.Expr:
    """Scalar input at a position as text; null where it was not recorded."""
    scalars = pl.col("concrete_inputs").cast(pl.String).str.extract_all(r'"[^"]*"')
    return scalars.list.get(position, null_on_oob=True).str.strip_chars('"')


def _size(shape: pl.Expr) -> pl.Expr:
    return pl.when(shape.list.len() > 0).then(shape.list.eval(pl.element().product()).list.first())


def _product() -> pl.Expr:
    """[…, m, k] by [k, n]: each of the left's elements meets every column."""
    left, right = (_shape(_by_name({op: pair[side] for op, pair in PRODUCTS.items()}, pl.Int64)) for side in (0, 1))
    columns = pl.when(right.list.len() > 1).then(right.list.last()).otherwise(1.0)
    return 2 * _size(left) * columns


def _convolution() -> pl.Expr:
    """Every output element meets one filter of weight.shape[1:]; backward does so for the input and for the weight."""
    forward_filter = _shape(1)
    transposed = _scalar(6) == "True"
    forward = pl.when(transposed).then(_size(_shape(0))).otherwise(_output_size()) * _size(forward_filter.list.slice(1))
    gradient, weight = (_by_name({op: pair[side] for op, pair in BACKWARD_CONVOLUTIONS.items()}, pl.Int64) for side in (0, 1))
    # the mask says which gradients were asked for: input, weight, bias
    mask = _scalar(-1).str.extract_all("True|False").list.head(2)
    wanted = pl.when(mask.list.len() == 2).then(mask.list.count_matches("True")).otherwise(2)  # noqa: PLR2004 - a pair
    backward = _size(_shape(gradient)) * _size(_shape(weight).list.slice(1)) * wanted
    is_forward = pl.col("name").cast(pl.String) == FORWARD_CONVOLUTION
    return 2 * pl.when(is_forward).then(forward).otherwise(backward)


def _output_size() -> pl.Expr:
    """Elements of the output, from input, weight, stride, padding and dilation."""
    inputs, weight = _shape(0), _shape(1)
    stride, padding, dilation = (_numbers(_scalar(position)) for position in (3, 4, 5))
    spatial = inputs.list.len() - 2
    size, kernel = inputs.list.tail(spatial), weight.list.tail(spatial)
    reach = dilation * (kernel - 1)
    # lists of one number stand for all dimensions
    known = (stride.list.len() == spatial) & (padding.list.len() == spatial) & (dilation.list.len() == spatial)
    out = ((size + padding * 2 - reach - 1) / stride).list.eval((pl.element()).floor() + 1)
    return pl.when(known & (spatial > 0)).then(inputs.list.first() * weight.list.first() * _size(out))


def _numbers(text: pl.Expr) -> pl.Expr:
    return text.str.extract_all(r"\d+").list.eval(pl.element().cast(pl.Float64))


def _attention() -> pl.Expr:
    """Query [B, H, Sq, D], key [B, H', Sk, D], value [B, H', Sk, Dv]: two products forward, five backward."""
    first = _by_name({op: values[0] for op, values in ATTENTION.items()}, pl.Int64)
    causal_at = _by_name({op: values[1] for op, values in ATTENTION.items()}, pl.Int64)
    products = _by_name({op: values[2] for op, values in ATTENTION.items()}, pl.Float64)
    query, key, value = _shape(first), _shape(first + 1), _shape(first + 2)
    causal = pl.when(_scalar(causal_at) == "True").then(0.5).otherwise(1.0)
    keys, width = key.list.get(2, null_on_oob=True), value.list.get(3, null_on_oob=True)
    mean_width = (query.list.get(3, null_on_oob=True) + width) / 2
    rows = query.list.head(3)
    return 2 * products * _size(rows) * keys * mean_width * causal
