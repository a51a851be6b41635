"""What device and host did while the steps ran, on the same clock."""

from __future__ import annotations

import streamlit as st

from analyze.report.charts.metrics import sampled
from views.shell.opened import opened
from views.shell.telemetry_chart import frame_or_none, telemetry_chart

it = opened()
st.title("Telemetry")
telemetry = frame_or_none(it, "telemetry")
metrics = () if telemetry is None else sampled(telemetry)
by_title = {metric.title: metric for metric in metrics}
if by_title:
    usual = [metric.title for metric in metrics if metric.usual]
    chosen = st.multiselect("Metrics", list(by_title), default=usual or list(by_title)[:6], key=f"metrics_{it.source.key}")
    st.caption("Drag sideways to enlarge a stretch of time in all charts at once; double-click to see all of it.")
    telemetry_chart(it, [by_title[title] for title in chosen])
else:
    telemetry_chart(it)
