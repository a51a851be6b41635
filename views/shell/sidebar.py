"""The side of every page: what is open, and looking at it in another way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from analyze.errors import StepscopeError
from analyze.report.plain_text import shown
from views.shell.session import current_diagnosis, current_source, open_source
from views.shell.source import from_path

if TYPE_CHECKING:
    from analyze.findings.model import Report
    from views.shell.source import Source

BASELINE = "Step time without the profiler, ms"
BASELINE_HELP = "Where you measured it yourself: it tells what profiling adds, and sharpens every saving."


def sidebar() -> None:
    """Show what is open."""
    source = current_source()
    if source is None:
        return
    with st.sidebar:
        st.caption("Open now")
        st.text(source.title)
        if source.upload is not None:
            return  # its files are gone once they were read
        try:
            diagnosis = current_diagnosis(source)
            if diagnosis.state == "done":
                _ask_differently(source, diagnosis.report)
            if st.button("Read again", help="After the run went on, or the file changed."):
                again = from_path(source.paths[0])
                open_source(replace(again, baseline_step_ms=source.baseline_step_ms, rank=source.rank))
                st.rerun()
        except StepscopeError as error:
            st.code(shown(error), language=None, wrap_lines=True)


def _ask_differently(source: Source, report: Report) -> None:
    """Let the user correct the step time of a profiled trace, and put another rank first."""
    baseline, rank = source.baseline_step_ms, source.rank
    time = report.summary.step_time
    if baseline is not None or (time is not None and time.profiled):
        key = _started(f"baseline_{source.key}", baseline)
        baseline = st.number_input(BASELINE, min_value=0.001, step=1.0, placeholder="unknown", help=BASELINE_HELP, key=key)
    ranks = [one.rank for one in report.ranks if one.rank is not None]
    if len(ranks) > 1:
        chosen = st.selectbox("Rank", ranks, key=_started(f"rank_{source.key}", report.summary.rank))
        rank = rank if chosen == report.summary.rank else chosen
    if (baseline, rank) != (source.baseline_step_ms, source.rank):
        open_source(replace(source, baseline_step_ms=baseline, rank=rank))
        st.rerun()


def _started(key: str, value: object) -> str:
    """Give a widget its first value; from then on it keeps its own."""
    st.session_state.setdefault(key, value)
    return key
