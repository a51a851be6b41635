"""How large is each operator's work, by its shapes: the sides of a matrix product, the bytes that must cross memory once?"""

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
    Column("flops", pl.Float64, "", "floating-point operations of a product; null for others"),
    Column("product_bytes", pl.Float64, "bytes", "both operands and the result of a product; null for others"),
    Column("streamed_bytes", pl.Float64, "bytes", "all inputs and one output as large as the largest: an elementwise pass"),
    Column("largest_bytes", pl.Float64, "bytes", "its largest input"),
    Column("largest_elements", pl.Int64, "", "elements of its largest input"),
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
#: operators that write over their first input without reading it
OVERWRITING = ("aten::copy_", "aten::fill_", "aten::zero_")
KEY = ("name", "input_shapes", "input_types")
MATRIX_RANK = 2


def op_costs(op_arguments: pl.DataFrame) -> pl.DataFrame:
    """One row per operator with known shapes; distinct calls are worked out once."""
    distinct = op_arguments.select(KEY).unique(maintain_order=True).with_row_index("call")
    told = _with_bytes(_with_product(_parsed(distinct)))
    columns = [column.name for column in COLUMNS]
    return op_arguments.join(told, on=KEY, how="left", nulls_equal=True, maintain_order="left").select(columns)


def _parsed(distinct: pl.DataFrame) -> pl.DataFrame:
    """Add `op`, `shapes` (bracket texts by argument), `types` and `element_type`."""
    types = pl.col("input_types").cast(pl.String).str.extract_all(r'"[^"]*"').list.eval(pl.element().str.strip_chars('"'))
    known = pl.element().replace_strict(PRECISION_OF_TYPE, default=None, return_dtype=pl.String)
    return distinct.with_columns(
        op=pl.col("name").cast(pl.String),
        # a list of tensors would shift the positions: such calls have fewer types than shapes and tell nothing
        shapes=pl.col("input_shapes").cast(pl.String).str.extract_all(r"\[[\d, ]*\]"),
        types=types,
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


def _with_bytes(products: pl.DataFrame) -> pl.DataFrame:
    argument = (
        products.filter(pl.col("shapes").list.len() == pl.col("types").list.len())
        .select("call", "op", "shapes", "types", place=pl.int_ranges(pl.col("shapes").list.len()))
        .explode("shapes", "types", "place")
        .with_columns(elements=_volume(_integers(pl.col("shapes"))))
    )
    size = pl.col("types").replace_strict(ELEMENT_BYTES, default=0, return_dtype=pl.Float64) * pl.col("elements")
    overwrites = pl.col("op").is_in(OVERWRITING).first()
    known = pl.col("types").replace_strict(PRECISION_OF_TYPE, default=None, return_dtype=pl.String)
    # a Python number shows as a double without dimensions
    of_tensors = known.filter(pl.col("shapes") != "[]").drop_nulls().first()
    totals = (
        argument.with_columns(size=size)
        .group_by("call")
        .agg(
            streamed_bytes=pl.col("size").sum() + pl.when(overwrites).then(0.0).otherwise(pl.col("size").max()),
            largest_bytes=pl.col("size").max(),
            largest_elements=pl.col("elements").filter(pl.col("size") > 0).max().cast(pl.Int64),
            tensor_type=of_tensors,
            aligned=pl.len() > 0,
        )
    )
    m, n, k, batch = (pl.col(name).cast(pl.Float64) for name in ("m", "n", "k", "batch"))
    told = products.join(totals, on="call", how="left").with_columns(
        element_type=pl.when("aligned").then("tensor_type").otherwise("element_type")
    )
    width = pl.col("element_type").replace_strict(PRECISION_BYTES, default=None, return_dtype=pl.Float64)
    return told.with_columns(flops=2.0 * m * n * k * batch, product_bytes=(m * k + k * n + m * n) * batch * width)
