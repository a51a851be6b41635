"""Why does a step take this long, what would each fix give back, how sure is that?"""

# ruff: noqa: RUF001 - the dash of a range is meant
from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from analyze.report.amounts import Scale, percent, quantity
from analyze.report.charts.metrics import overview_metrics
from analyze.report.charts.step_bar import segments
from analyze.report.headline import what_ran
from analyze.report.trust import trust_sentences
from views.shell.finding_card import finding_card
from views.shell.markup import bullets, line, prose
from views.shell.numbers import numbers
from views.shell.opened import opened
from views.shell.step_bar import step_bar
from views.shell.telemetry_chart import telemetry_chart

if TYPE_CHECKING:
    from analyze.findings.model import Report


def _numbers(report: Report) -> None:
    summary, scale = report.summary, Scale.of(report.summary)
    time = summary.step_time
    shown: list[tuple[str, str, str]] = []
    if time is not None:
        kind = f"{'inferred, ' if time.inferred else ''}{'profiled' if time.profiled else 'unprofiled'}"
        spread = scale.span(time.p10_ns, time.p90_ns)
        shown.append(("Step time", f"{scale.ms(time.median_ns)} ms", f"median of {time.count:,} {kind} steps, p10–p90 {spread}"))
    if summary.device_busy_fraction is not None:
        without = summary.busy_without_collectives_fraction
        differs = without is not None and without != summary.device_busy_fraction
        note = f"{percent(without)} without collectives" if differs and without is not None else "of the step"
        shown.append(("Device busy", percent(summary.device_busy_fraction), note))
    if summary.samples_per_s is not None:
        shown.append(("Samples per second", quantity(summary.samples_per_s), ""))
    if summary.after_all_fixes_ns is not None and report.findings:
        shown.append(("After the fixes", f"{scale.ms(summary.after_all_fixes_ns)} ms", "all replayed fixes together"))
    if summary.floor_ns is not None:
        shown.append(("Floor", f"{scale.ms(summary.floor_ns)} ms", "with a device that never idles"))
    numbers(shown)


def _where_it_goes(report: Report) -> None:
    parts, total = segments(report.summary)
    if not parts:
        return
    st.subheader("Where the step goes")
    step_bar(parts, total, "on the device" if report.summary.step_parts_ns else "on the host")


def _findings(report: Report) -> None:
    st.subheader("What to fix")
    if not report.findings:
        line("Nothing was found that is worth fixing.")
    for number, finding in enumerate(report.findings, 1):
        finding_card(finding, report, number)
    if report.notes:
        st.subheader("Worth knowing")
        line("No time is attached to these.", faint=True)
    for note in report.notes:
        finding_card(note, report)


def _trust(report: Report) -> None:
    st.subheader("How far to trust this")
    bullets(list(trust_sentences(report)))
    reasons: dict[str, list[str]] = {}
    for detector, reason in report.skipped:
        reasons.setdefault(reason, []).append(report.detectors[detector].title)
    if reasons:
        st.subheader("Not checked, and why")
        for reason, titles in reasons.items():
            line(reason[:1].upper() + reason[1:], weight=600)
            line(" · ".join(titles), size=".92rem", faint=True)
    if report.clear:
        with st.expander(f"Checked, nothing found ({len(report.clear)})"):
            bullets([report.detectors[detector].title for detector in report.clear])


def _next(report: Report) -> None:
    if report.next_steps:
        st.subheader("What to do next")
        for step in report.next_steps:
            prose(step)


it = opened()
line(what_ran(it.report.summary), faint=True)
line(it.report.verdict, size="1.55rem", weight=650, tag="h1")
_numbers(it.report)
_where_it_goes(it.report)
answer, meanwhile = st.columns([3, 2], gap="large")
with answer:
    _findings(it.report)
    _next(it.report)
# Where little was found, the wide column has room for the charts.
with meanwhile if it.report.findings else answer:
    st.subheader("Meanwhile, on the same clock")
    telemetry_chart(it, overview_metrics(it.report.summary))
with meanwhile:
    _trust(it.report)
