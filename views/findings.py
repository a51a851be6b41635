"""Every check of this run: what was found, what was looked at in vain, what could not be looked at and why."""

from __future__ import annotations

import streamlit as st

from views.shell.finding_card import finding_card
from views.shell.markup import line, prose
from views.shell.opened import opened

it = opened()
report = it.report
st.title("Findings")
found, clear, skipped = st.tabs(
    [
        f"Found ({len(report.findings) + len(report.notes)})",
        f"Nothing found ({len(report.clear)})",
        f"Not checked ({len(report.skipped)})",
    ]
)
with found:
    if not report.findings and not report.notes:
        line("Nothing was found that is worth fixing.")
    for number, finding in enumerate(report.findings, 1):
        finding_card(finding, report, number)
    for note in report.notes:
        finding_card(note, report)
with clear:
    for detector in (report.detectors[detector] for detector in report.clear):
        with st.container(border=True):
            line(detector.title, weight=600)
            prose(detector.measured)
with skipped:
    for detector, reason in ((report.detectors[detector], reason) for detector, reason in report.skipped):
        with st.container(border=True):
            line(detector.title, weight=600)
            line(f"Not checked: {reason}")
