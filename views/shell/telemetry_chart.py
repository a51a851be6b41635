"""Telemetry on the same clock as the steps, drawn; or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from analyze.errors import StepscopeError
from analyze.report.charts.metrics import METRICS, Metric
from analyze.report.charts.telemetry import device_names, telemetry_figure
from views.shell.markup import line

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from views.shell.opened import Opened

#: what one drags with the mouse is a stretch of time
CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}


def frame_or_none(it: Opened, name: str) -> pl.DataFrame | None:
    """Return a table, or None where this run has none."""
    try:
        return it.report.table(name)
    except StepscopeError:
        return None


def telemetry_chart(it: Opened, metrics: Iterable[Metric] = METRICS) -> None:
    """Draw these metrics, those of them that were sampled."""
    telemetry, step_log = frame_or_none(it, "telemetry"), frame_or_none(it, "step_log")
    figure = None
    if telemetry is not None or step_log is not None:
        names = device_names(it.report.manifest)
        figure = telemetry_figure(telemetry, step_log, it.report.summary.window_ns, names, metrics)
    if figure is None:
        line(
            "A trace alone has no telemetry. This records utilisation, power, memory and temperature beside the steps:",
            faint=True,
        )
        st.code("python -m collect -- your_script.py", language="bash")
        return
    st.plotly_chart(figure, width="stretch", config=CONFIG)
    if telemetry is None or telemetry.is_empty():
        line("No telemetry was recorded in this run: these are the steps alone.", faint=True)
