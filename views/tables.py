"""Any table or analysis of this run, a page of rows at a time, and all of it as CSV."""

from __future__ import annotations

import polars as pl
import streamlit as st

from analyze.engine import table_names
from analyze.errors import StepscopeError
from analyze.report.amounts import counted
from analyze.report.table_rows import Page
from views.shell.markup import line
from views.shell.opened import opened
from views.shell.table import show_table

ROWS = 50

it = opened()
st.title("Tables")
columns_of = table_names()
name = st.selectbox("Table or analysis", list(columns_of), index=None, placeholder="kernels, copies, gpu_gaps …")
if name is None:
    line("Choose one: tables hold what was recorded, analyses what was made of it.", faint=True)
    st.stop()
columns = columns_of[name]
with st.container(horizontal=True, vertical_alignment="bottom"):
    containing = st.text_input("Text contains", key=f"contains_{name}")
    sort_by = st.selectbox(
        "Sort by", [column.name for column in columns], index=None, placeholder="as recorded", key=f"sort_{name}"
    )
    descending = st.toggle("Largest first", value=True, key=f"descending_{name}")
where = f"page_{it.source.key}_{name}_{containing}_{sort_by}_{descending}"
number = int(st.session_state.get(where, 1))
table = str(name)
page = Page(offset=(number - 1) * ROWS, limit=ROWS, sort_by=sort_by, descending=descending, containing=containing)
try:
    count, rows = it.diagnosis.rows(name, page)
except StepscopeError as error:
    line(f"This run has none: {it.source.named(error)}")
    st.stop()
pages = max(-(-count // ROWS), 1)
with st.container(horizontal=True, vertical_alignment="bottom"):
    st.number_input(f"Page, of {pages:,}", 1, pages, key=where, width=160)
    line(
        f"{counted(count, 'row')} match; rows {page.offset + 1:,} to {page.offset + rows.height:,} are shown"
        if count
        else "No row matches."
    )
show_table(rows, height=35 * (min(rows.height, ROWS) + 1) + 3)
st.download_button(
    "Download the whole table as CSV",
    data=lambda: it.diagnosis.csv(table),
    file_name=f"{name}.csv",
    mime="text/csv",
    on_click="ignore",
)
with st.expander("What the columns mean"):
    meanings = [(column.name, column.unit, column.meaning) for column in columns]
    show_table(pl.DataFrame(meanings, schema=["column", "unit", "meaning"], orient="row"))
