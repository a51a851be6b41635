"""How many bytes does a call move, by the shapes and types that were recorded with it?"""

from __future__ import annotations

import polars as pl

#: bytes of one element by the type names that operators record
ELEMENT_BYTES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "long int": 8, "long": 8, "unsigned char": 1,
    "signed char": 1, "bool": 1, "short int": 2,
}  # fmt: skip


def first_tensor_bytes(shapes: str, types: str) -> pl.Expr:
    """Bytes of the first tensor of two columns of JSON text; null where it is none or its type is not known."""
    shape = pl.col(shapes).cast(pl.String).str.extract(r"^\[+((?:\d+(?:, ?)?)+)\]").str.split(",")
    elements = shape.list.eval(pl.element().str.strip_chars().cast(pl.Int64, strict=False).product()).list.first()
    kind = pl.col(types).cast(pl.String).str.extract(r'^\["([^"]*)"')
    return elements * kind.replace_strict(ELEMENT_BYTES, default=None, return_dtype=pl.Int64)
