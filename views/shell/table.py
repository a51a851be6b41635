"""A table on a page: names as text, units in the headings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import polars.selectors as cs
import streamlit as st

from analyze.report.plain_text import shown
from views.shell.markup import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: an unknown value
UNKNOWN = "-"
TABLE = "width:100%;border-collapse:collapse;font-size:.93rem;line-height:1.4"
CELL = "text-align:left;vertical-align:top;padding:.3rem .8rem .3rem 0;border-bottom:1px solid rgba(133,144,162,.35)"
#: integers that a double holds exactly
LARGEST_EXACT = 2**53


def show_table(frame: pl.DataFrame, named: Callable[[object], str] = shown, *, height: int | None = None) -> None:
    """Show a frame that is small enough to be looked at; cells are text or numbers, never markup."""
    text = frame.select(cs.string() | cs.categorical() | cs.enum()).columns
    cells = frame.with_columns(
        pl.Series(name, [None if cell is None else named(cell) for cell in frame[name].cast(pl.String)], dtype=pl.String)
        for name in text
    )
    exact = [name for name in cells.select(cs.integer()).columns if _is_beyond_browser(cells[name])]
    cells = cells.with_columns(pl.col(exact).cast(pl.String))
    config = {name: st.column_config.Column(label=shown(name)) for name in frame.columns}
    st.dataframe(cells, hide_index=True, width="stretch", column_config=config, height=height or "auto", placeholder=UNKNOWN)


def text_table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Show a few rows of text in full, each cell on as many lines as it needs."""
    head = "".join(f'<th style="{CELL};opacity:.72;font-weight:400">{safe(title)}</th>' for title in titles)
    body = "".join(f"<tr>{''.join(map(_text_cell, row))}</tr>" for row in rows)
    table = f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    st.html(f'<div style="overflow-x:auto">{table}</div>')


def _text_cell(cell: object) -> str:
    return f'<td style="{CELL}">{safe(cell)}</td>'


def _is_beyond_browser(column: pl.Series) -> bool:
    """Whether a browser, which keeps numbers as doubles, would round some: Unix times in ns are shown as text."""
    return bool((column.abs() > LARGEST_EXACT).any())
