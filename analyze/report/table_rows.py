"""Which rows of a table are on this page, and how is a table written as CSV that no spreadsheet executes?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs

if TYPE_CHECKING:
    from collections.abc import Iterable

#: a cell that begins with one of these is a formula to a spreadsheet
FORMULA_START = r"^([=+\-@\t\r\n])"
#: a number written as text is harmless with its sign
NUMBER = r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$"


@dataclass(frozen=True, kw_only=True)
class Page:
    """Rows asked for."""

    offset: int = 0
    limit: int = 100
    #: column to sort by; None keeps the table's own order
    sort_by: str | None = None
    descending: bool = True
    #: keep rows where any text column holds this, whatever its case
    containing: str = ""


def rows(frame: pl.DataFrame, page: Page) -> tuple[int, pl.DataFrame]:
    """Return how many rows match, and those of the page."""
    lazy = frame.lazy()
    text = frame.select(cs.string() | cs.categorical() | cs.enum()).columns
    if page.containing and text:
        found = (
            pl.col(name).cast(pl.String).str.to_lowercase().str.contains(page.containing.lower(), literal=True) for name in text
        )
        lazy = lazy.filter(pl.any_horizontal(*found))
    if page.sort_by is not None:
        lazy = lazy.sort(page.sort_by, descending=page.descending, nulls_last=True)
    matching = lazy.collect()
    return matching.height, matching.slice(page.offset, page.limit)


def csv_text(frame: pl.DataFrame) -> str:
    """Return the whole table as CSV; text that a spreadsheet would execute gets a leading apostrophe."""
    flat = frame.with_columns(_as_text(name, dtype) for name, dtype in frame.schema.items() if _needs_text(dtype))
    return flat.rename(dict(zip(flat.columns, _harmless(flat.columns), strict=True))).write_csv()


def _needs_text(dtype: pl.DataType) -> bool:
    return dtype.is_nested() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Binary, pl.Object)


def _as_text(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if isinstance(dtype, pl.List):
        text = pl.format("[{}]", column.list.eval(pl.element().cast(pl.String)).list.join(", "))
    elif isinstance(dtype, pl.Struct):
        text = column.struct.json_encode()
    else:
        text = column.cast(pl.String)
    risky = text.str.contains(FORMULA_START) & ~text.str.contains(NUMBER)
    return pl.when(risky).then(pl.concat_str(pl.lit("'"), text)).otherwise(text).alias(name)


def _harmless(names: Iterable[str]) -> list[str]:
    return pl.Series(list(names)).str.replace(FORMULA_START, "'${1}").to_list()
