"""How many floating-point operations and bytes does each operator need, by its shapes?

Bytes are what must cross memory at least once. Only matrix products, convolutions and plain elementwise passes are told.
"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("id", pl.Int64, "", "operator"),
    Column("element_type", pl.String, "", "type of its first floating-point tensor: fp64, fp32, bf16, fp16; null if none"),
    Column("m", pl.Int64, "", "rows of a matrix product; null for others"),
    Column("n", pl.Int64, "", "columns of a matrix product"),
    Column("k", pl.Int64, "", "summed dimension of a matrix product"),
    Column("batch", pl.Int64, "", "products in one call"),
    Column("flops", pl.Float64, "", "floating-point operations of a product or convolution; null for others"),
    Column("product_bytes", pl.Float64, "bytes", "both operands and the result of a product; null for others"),
    Column("streamed_bytes", pl.Float64, "bytes", "all inputs and one output as large as the largest: an elementwise pass"),
)

#: bytes of an element by the type as the profiler writes it
ELEMENT_BYTES = {
    "float": 4, "double": 8, "c10::BFloat16": 2, "c10::Half": 2, "long int": 8, "long": 8, "int": 4, "bool": 1,
    "unsigned char": 1, "signed char": 1, "c10::Float8_e4m3fn": 1, "c10::Float8_e5m2": 1,
}  # fmt: skip
#: our names of the floating-point types
PRECISION_OF_TYPE = {"float": "fp32", "double": "fp64", "c10::BFloat16": "bf16", "c10::Half": "fp16"}
#: bytes of an element by our names
PRECISION_BYTES = {"fp64": 8.0, "fp32": 4.0, "bf16": 2.0, "fp16": 2.0}
#: matrix products, by the position of the left operand; the right one follows
PRODUCTS = {
    "aten::mm": 0, "aten::bmm": 0, "aten::_scaled_mm": 0, "aten::_int_mm": 0, "aten::addmm": 1, "aten::addmm_": 1,
    "aten::_addmm_activation": 1, "aten::baddbmm": 1, "aten::baddbmm_": 1, "aten::addbmm": 1,
}  # fmt: skip
#: convolutions, by the positions of padding, stride and dilation among the inputs
CONVOLUTIONS = {
    "aten::cudnn_convolution": (2, 3, 4),
    "aten::cudnn_convolution_relu": (4, 3, 5),
    "aten::cudnn_convolution_add_relu": (6, 5, 7),
    "aten::miopen_convolution": (3, 4, 5),
    "aten::convolution": (4, 3, 5),
    "aten::_convolution": (4, 3, 5),
}
#: operators that write over their first input without reading it
OVERWRITING = ("aten::copy_", "aten::fill_", "aten::zero_")
KEY = ("name", "input_shapes", "input_types", "concrete_inputs")
MATRIX_RANK = 2


def op_costs(op_arguments: pl.DataFrame) -> pl.DataFrame:
    """One row per operator with known shapes; distinct calls are worked out once."""
    distinct = op_arguments.select(KEY).unique(maintain_order=True).with_row_index("call")
    told = _with_bytes(_with_flops(_with_product(_parsed(distinct))))
    columns = [column.name for column in COLUMNS]
    return op_arguments.join(told, on=KEY, how="left", nulls_equal=True, maintain_order="left").select(columns)


def _parsed(distinct: pl.DataFrame) -> pl.DataFrame:
    """Add `op`, `shapes` (bracket texts by argument), `types`, `scalars` (quoted texts by argument), `element_type`."""
    quoted = r'"[^"]*"'
    types = pl.col("input_types").cast(pl.String).str.extract_all(quoted).list.eval(pl.element().str.strip_chars('"'))
    known = pl.element().replace_strict(PRECISION_OF_TYPE, default=None, return_dtype=pl.String)
    return distinct.with_columns(
        op=pl.col("name").cast(pl.String),
        # a list of tensors would shift the positions: such calls have fewer types than shapes and tell nothing
        shapes=pl.col("input_shapes").cast(pl.String).str.extract_all(r"\[[\d, ]*\]"),
        types=types,
        scalars=pl.col("concrete_inputs").cast(pl.String).str.extract_all(quoted),
        element_type=types.list.eval(known).list.drop_nulls().list.first(),
    )


def _integers(text: pl.Expr) -> pl.Expr:
    return text.str.extract_all(r"\d+").cast(pl.List(pl.Int64))


def _shape(position: pl.Expr | int) -> pl.Expr:
    return _integers(pl.col("shapes").list.get(position, null_on_oob=True))


def _volume(dimensions: pl.Expr) -> pl.Expr:
    return dimensions.list.eval(pl.element().cast(pl.Float64).product()).list.first()


def _with_product(parsed: pl.DataFrame) -> pl.DataFrame:
    position = pl.col("op").replace_strict(PRODUCTS, default=None, return_dtype=pl.Int64)
    operands = parsed.with_columns(left=_shape(position), right=_shape(position + 1))
    rank = pl.col("left").list.len().cast(pl.Int64)
    matrices = (rank >= MATRIX_RANK) & (pl.col("right").list.len() >= MATRIX_RANK)
    leading = _volume(pl.col("left").list.head(rank - MATRIX_RANK)).cast(pl.Int64)
    return operands.with_columns(
        m=pl.when(matrices).then(pl.col("left").list.get(-2, null_on_oob=True)),
        k=pl.when(matrices).then(pl.col("left").list.get(-1, null_on_oob=True)),
        n=pl.when(matrices).then(pl.col("right").list.get(-1, null_on_oob=True)),
        batch=pl.when(matrices).then(leading),
    )


def _with_flops(products: pl.DataFrame) -> pl.DataFrame:
    product = 2.0 * pl.col("m") * pl.col("n") * pl.col("k") * pl.col("batch")
    return products.with_columns(flops=pl.coalesce(product, _forward_flops(), _backward_flops()))


def _forward_flops() -> pl.Expr:
    """Operations of a convolution, whose output size follows from padding, stride and dilation."""
    inputs, weight = _shape(0), _shape(1)
    padding, stride, dilation = (_setting(place) for place in range(3))
    rank = weight.list.len() - MATRIX_RANK
    complete = (padding.list.len() == rank) & (stride.list.len() == rank) & (dilation.list.len() == rank)
    none = pl.lit(None, dtype=pl.List(pl.Int64))
    extent, taps = (pl.when(complete).then(side.list.slice(2)).otherwise(none) for side in (inputs, weight))
    output = (extent + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
    return 2.0 * inputs.list.first() * _volume(output) * _volume(weight)


def _setting(place: int) -> pl.Expr:
    places = {op: positions[place] for op, positions in CONVOLUTIONS.items()}
    position = pl.col("op").replace_strict(places, default=None, return_dtype=pl.Int64)
    return _integers(pl.col("scalars").list.get(position, null_on_oob=True))


def _backward_flops() -> pl.Expr:
    """Operations of a convolution's backward: as many as forward for each of the two gradients that were asked for."""
    asked = pl.col("scalars").list.last().str.extract(r"\[(\w+, \w+)").str.count_matches("True").fill_null(2)
    forward = 2.0 * _volume(_shape(0)) * _volume(_shape(2).list.slice(1))
    return pl.when(pl.col("op") == "aten::convolution_backward").then(forward * asked)


def _with_bytes(products: pl.DataFrame) -> pl.DataFrame:
    argument = (
        products.filter(pl.col("shapes").list.len() == pl.col("types").list.len())
        .select("call", "op", "shapes", "types", place=pl.int_ranges(pl.col("shapes").list.len()))
        .explode("shapes", "types", "place")
    )
    element = pl.col("types").replace_strict(ELEMENT_BYTES, default=0, return_dtype=pl.Float64)
    size = element * _volume(_integers(pl.col("shapes")))
    overwrites = pl.col("op").is_in(OVERWRITING).first()
    streamed = pl.col("size").sum() + pl.when(overwrites).then(0.0).otherwise(pl.col("size").max())
    totals = argument.with_columns(size=size).group_by("call").agg(streamed_bytes=streamed)
    m, n, k, batch = (pl.col(name).cast(pl.Float64) for name in ("m", "n", "k", "batch"))
    width = pl.col("element_type").replace_strict(PRECISION_BYTES, default=None, return_dtype=pl.Float64)
    return products.join(totals, on="call", how="left").with_columns(product_bytes=(m * k + k * n + m * n) * batch * width)
