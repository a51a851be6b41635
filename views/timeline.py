"""What ran when in one step: device streams and launching threads side by side."""

from __future__ import annotations

import polars as pl
import streamlit as st

from analyze.report.charts.timeline import items, timeline_figure
from views.shell.markup import line
from views.shell.opened import opened
from views.shell.table import show_table
from views.shell.telemetry_chart import CONFIG, frame_or_none

LONGEST = 15

it = opened()
st.title("Timeline")
steps = frame_or_none(it, "steps")
if steps is None or steps.is_empty():
    line("No steps were found in this trace, so there is none to draw; the Tables page has its events.")
    st.stop()
numbers = steps["step"].to_list()
step = st.selectbox("Step", numbers, index=len(numbers) // 2, key=f"step_{it.source.key}", width=240)
chosen = items(step, *(frame_or_none(it, name) for name in ("kernels", "copies", "launches", "cpu_ops")))
if chosen.is_empty():
    line("Nothing that belongs to this step was recorded; the Tables page has all events.")
    st.stop()
began = steps.filter(pl.col("step") == step)["start_ns"][0]
figure, drawn = timeline_figure(chosen, began)
if drawn < chosen.height:
    line(f"The longest {drawn:,} of {chosen.height:,} are drawn.", faint=True)
st.plotly_chart(figure, width="stretch", config=CONFIG)
st.subheader("The longest in this step")
show_table(
    chosen.top_k(LONGEST, by="dur_ns").with_columns(dur_ms=pl.col("dur_ns") / 1e6).select("lane", "kind", "name", "dur_ms")
)
