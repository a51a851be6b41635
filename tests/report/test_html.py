from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import polars as pl
import pytest

from analyze.report.html import fragment, render
from tests import reports
from tests.reports import steps_of, table_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.findings.model import Report

ALLOWED = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "div",
    "p",
    "span",
    "ul",
    "ol",
    "li",
    "i",
    "b",
    "h2",
    "h3",
    "svg",
    "circle",
    "section",
    "code",
    "pre",
    "details",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "a",
}
EMPTY = {"meta", "!doctype"}


class Page(HTMLParser):
    """Collects tags, attributes and text, and holds that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ALL = [
    reports.gpu_report,
    reports.clean_report,
    reports.cpu_report,
    reports.ranks_report,
    reports.hostile_report,
    reports.stepless_report,
]


@pytest.mark.parametrize("build", ALL, ids=lambda build: build.__name__)
@pytest.mark.parametrize("form", [render, fragment])
def test_a_page_is_well_formed_and_holds_nothing_that_runs_or_loads(
    build: Callable[[], Report], form: Callable[[Report], str]
) -> None:
    page = Page(form(build()))
    assert page.tags <= ALLOWED
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in {"src", "srcset", "action"}]
    links = [value for name, value in page.attributes if name == "href"]
    assert all(value is not None and value.startswith("https://") for value in links)
    assert "url(" not in form(build())


def test_the_page_follows_the_readers_colours_and_forbids_loading() -> None:
    text = render(reports.gpu_report())
    assert "prefers-color-scheme: dark" in text
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text


def test_the_page_shows_verdict_parts_savings_notes_and_what_was_not_checked() -> None:
    text = Page(render(reports.gpu_report())).text
    for words in (
        "Copies from pageable memory take 50.1 of 68.4 ms of each step",
        "68.4 ms (p10\u2013p90 67.1\u201370.2), 40 unprofiled steps, 936 samples/s, profiling +9.1%",
        "exposed copy 50.1 ms 73%",
        "saves 48.2 ms of each step (46.0\u201350.1), 70% of it; severity high; confidence 0.91 (high), replayed",
        "pin_memory=True",
        "The card drew 699 of 700 W",
        "the run has no temperature: thermal-throttle",
        "Results differ in the last bits.",
    ):
        assert words in text


def test_hostile_names_are_text() -> None:
    text = render(reports.hostile_report())
    assert "<img" not in text
    assert "{{7*7}}" in Page(text).text
    assert not {"\x1b", "\u202e"} & set(text)


def test_a_documentation_reference_that_is_no_address_is_no_link() -> None:
    outcome = reports.gpu_report().outcomes[0]
    odd = replace(outcome, detector=replace(outcome.detector, doc="javascript:alert(1)"))
    text = render(replace(reports.gpu_report(), outcomes=(odd, *reports.gpu_report().outcomes[1:])))
    assert 'href="javascript' not in text


def test_steps_under_the_profiler_are_marked() -> None:
    steps = pl.concat([steps_of(68, 69), steps_of(75, profiled=True)])
    text = render(replace(reports.gpu_report(), table=table_source(step_time=steps)))
    assert len(re.findall("<circle", text)) == 3
    assert len(re.findall('class="profiled"', text)) == 1
    assert "<title>step 11: 69.0 ms</title>" in text


def test_a_run_without_step_times_has_no_chart() -> None:
    assert "<svg" not in render(replace(reports.gpu_report(), table=table_source()))
    assert "<svg" not in render(replace(reports.gpu_report(), table=table_source(step_time=steps_of(68))))


def test_a_huge_run_stays_below_two_megabytes() -> None:
    long = "n" * 20_000
    evidence = pl.DataFrame({f"c{index}": [long] * 500 for index in range(30)})
    finding = replace(reports.COPY_FINDING, evidence=evidence, message=long, location=long)
    quality = reports.quality(*[(long, 1, long)] * 300)
    rank = replace(reports.gpu_report().ranks[0], name=long)
    report = replace(
        reports.gpu_report(),
        findings=(finding,) * 40,
        data_quality=quality,
        ranks=(rank,) * 2_000,
        set_aside=((long, long),) * 500,
        table=table_source(step_time=steps_of(*[68.0] * 50_000)),
    )
    size = len(render(report).encode())
    assert size < 2_000_000


def test_a_notebook_shows_the_fragment() -> None:
    report = reports.gpu_report()
    assert report._repr_html_() == fragment(report)
    assert "<html" not in fragment(report)
