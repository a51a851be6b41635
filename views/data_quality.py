"""What was missing, damaged or out of the ordinary in what was read."""

from __future__ import annotations

import polars as pl
import streamlit as st

from views.shell.markup import bullets, line
from views.shell.opened import opened
from views.shell.table import show_table

it = opened()
report = it.report
st.title("Data quality")
if report.info is not None:
    info = report.info
    has = {
        "input shapes": info.has_shapes,
        "Python stacks": info.has_stacks,
        "memory events": info.has_memory,
        "synchronisation records": info.has_sync_records,
        "absolute times": info.time_is_absolute,
    }
    line(f"{info.event_count:,} events, {info.json_bytes / 1e6:,.1f} MB of JSON, written by {info.producer}")
    line("Recorded: " + (", ".join(name for name, there in has.items() if there) or "none of the optional records"))
    line("Not recorded: " + (", ".join(name for name, there in has.items() if not there) or "nothing is missing"))
    if info.truncated:
        line("The file ends too early: events after its end are lost.", weight=600)
st.subheader("Repaired, dropped, implausible")
if report.data_quality.is_empty():
    line("Nothing: every event was read as it was written.")
else:
    show_table(report.data_quality)
if report.set_aside:
    st.subheader("Files set aside")
    show_table(pl.DataFrame(list(report.set_aside), schema=["file", "reason"], orient="row"))
st.subheader("What was read")
bullets([report.source, *(f"rank {'unknown' if one.rank is None else one.rank}: {one.name}" for one in report.ranks)])
