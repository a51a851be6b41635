"""What a page starts with: the report, or else the chooser, the progress or the error, which end the page."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl
import streamlit as st

from analyze.errors import StepscopeError
from views.shell.choose import choose
from views.shell.markup import line
from views.shell.session import close_source, current_diagnosis, current_source

if TYPE_CHECKING:
    from analyze.findings.model import Report
    from views.shell.diagnosis import Diagnosis
    from views.shell.source import Source

#: seconds between two looks at a diagnosis under way
POLL_S = 0.5
READABLE = (
    "What can be read: traces as torch.profiler exports them, plain or compressed; other traces in Chrome's format; "
    "archives and folders of these; run directories written by stepscope."
)


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What this session looks at."""

    source: Source
    diagnosis: Diagnosis
    #: the names of uploaded files are the user's
    report: Report


def opened() -> Opened:
    """Return what is open; where that is nothing, or not ready, show what there is instead and end the page."""
    source = current_source()
    if source is None:
        choose()
        st.stop()
    try:
        diagnosis = current_diagnosis(source)
    except StepscopeError as error:
        _failed(source, str(error))
        st.stop()
    if diagnosis.state == "running":
        st.subheader("Reading")
        st.text(source.title)
        _progress(diagnosis)
        st.stop()
    if diagnosis.state != "done":
        _failed(source, diagnosis.error)
        st.stop()
    return Opened(source=source, diagnosis=diagnosis, report=with_names(diagnosis.report, source))


@st.fragment(run_every=POLL_S)
def _progress(diagnosis: Diagnosis) -> None:
    if diagnosis.state != "running":
        st.rerun()
    seconds = time.monotonic() - diagnosis.started
    st.progress(min(max(diagnosis.fraction or 0.0, 0.0), 1.0))
    source = current_source()
    st.text(f"{source.named(diagnosis.text) if source else ''} · {seconds:.0f} s")
    if st.button("Cancel"):
        close_source()
        st.rerun()


def _failed(source: Source, error: str) -> None:
    st.subheader("This could not be read")
    st.text(source.title)
    # A code block shows any text as it stands; an alert would take it for markdown.
    st.code(source.named(error), language=None, wrap_lines=True)
    line(READABLE, faint=True)
    if st.button("Open something else", type="primary"):
        close_source()
        st.rerun()


def with_names(report: Report, source: Source) -> Report:
    """Return the report with the user's names for uploaded files wherever a file is named."""
    if not source.names:
        return report
    named = source.named
    quality = report.data_quality.with_columns(
        pl.Series(name, [named(cell) if cell is not None else None for cell in report.data_quality[name]], dtype=pl.String)
        for name in ("detail", "file")
    )
    return replace(
        report,
        source=named(report.source),
        summary=replace(report.summary, label=named(report.summary.label)),
        verdict=named(report.verdict),
        data_quality=quality,
        ranks=tuple(
            replace(rank, name=named(rank.name), summary=replace(rank.summary, label=named(rank.summary.label)))
            for rank in report.ranks
        ),
        set_aside=tuple((named(file), named(reason)) for file, reason in report.set_aside),
        next_steps=tuple(named(step) for step in report.next_steps),
    )
