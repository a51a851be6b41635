"""One finding as a card: what it is, what it gives back, where, how to fix it, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import streamlit as st

from analyze.report.amounts import counted
from analyze.report.card import card
from analyze.report.evidence import evidence_of
from analyze.report.plain_text import shown
from views.shell.markup import line, prose, safe
from views.shell.table import show_table

if TYPE_CHECKING:
    from analyze.findings.model import Finding, Remedy, Report

#: rows of evidence shown; a finding has few, and its table has them all
EVIDENCE_ROWS = 100
COLOURS = {"high": "#d1495b", "medium": "#e08428", "low": "#8590a2"}


def finding_card(finding: Finding, report: Report, number: int | None = None) -> None:
    """Show one finding."""
    said = card(finding, report)
    with st.container(border=True, gap="xsmall"):
        _head(said.title if number is None else f"{number}. {said.title}", said.severity)
        if said.gives_back:
            line(said.gives_back, size="1.1rem", weight=600)
        line(said.message)
        line(" · ".join(said.how_sure), size=".92rem", faint=True)
        if said.location:
            line("Where", size=".92rem", faint=True)
            st.code(shown(said.location), language=None, wrap_lines=True)
        if said.caveat:
            line(f"Beware: {said.caveat}")
        for remedy in said.fix[:1]:
            _remedy("Fix: ", remedy)
        if said.fix[1:]:
            with st.expander(f"Other ways ({len(said.fix) - 1})"):
                for remedy in said.fix[1:]:
                    _remedy("", remedy)
        with st.expander("Evidence"):
            prose(said.measured)
            _evidence(finding, report)
            if said.thresholds:
                line("Thresholds: " + ", ".join(said.thresholds), size=".92rem", faint=True)


def _remedy(before: str, remedy: Remedy) -> None:
    prose(before + remedy.text)
    if remedy.code:
        st.code(remedy.code, language="python", wrap_lines=True)


def _evidence(finding: Finding, report: Report) -> None:
    seen = evidence_of(finding, report.summary, EVIDENCE_ROWS)
    if seen is None:
        return
    titles = seen.titles if len(set(seen.titles)) == len(seen.titles) else finding.evidence.columns
    show_table(pl.DataFrame(seen.rows, schema=dict.fromkeys(titles, pl.String), orient="row"))
    if seen.count > len(seen.rows):
        line(f"{len(seen.rows):,} of {counted(seen.count, 'row')}", size=".92rem", faint=True)


def _head(title: str, severity: str) -> None:
    colour = COLOURS.get(severity, COLOURS["low"])
    badge = f"border:1px solid {colour};color:{colour};border-radius:1rem;padding:0 .55rem;font-size:.8rem;font-weight:600"
    tag = f'<span style="{badge}">{safe(severity)}</span>' if severity else ""
    style = "display:flex;gap:.7rem;align-items:center;flex-wrap:wrap;margin:0;padding:0;font-size:1.15rem;font-weight:650"
    st.html(f'<h3 style="{style}">{safe(title)} {tag}</h3>')
