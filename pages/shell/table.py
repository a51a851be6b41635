"""A table on a page: names as text, units in the headings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs
import streamlit as st

from analyze.report.plain_text import shown

if TYPE_CHECKING:
    from collections.abc import Callable

#: an unknown value
UNKNOWN = "-"


def show_table(frame: pl.DataFrame, named: Callable[[object], str] = shown, *, height: int | None = None) -> None:
    """Show a frame that is small enough to be looked at; cells are text or numbers, never markup."""
    text = frame.select(cs.string() | cs.categorical() | cs.enum()).columns
    cells = frame.with_columns(
        pl.Series(name, [None if cell is None else named(cell) for cell in frame[name].cast(pl.String)], dtype=pl.String)
        for name in text
    )
    config = {name: st.column_config.Column(label=shown(name)) for name in frame.columns}
    st.dataframe(cells, hide_index=True, width="stretch", column_config=config, height=height or "auto", placeholder=UNKNOWN)
