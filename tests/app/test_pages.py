"""Each page with a report, without one, while one is made, after that failed, and with names that try to be code."""

# ruff: noqa: RUF001 - dashes of ranges are meant
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

import analyze
from analyze.findings.examples import Example
from tests import reports
from tests.app import fakes
from tests.app.conftest import PAGES, words
from tests.app.fakes import Finished

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    from analyze.findings.model import Report

    Show = Callable[..., AppTest]

#: pages that need something to be open
OF_A_REPORT = tuple(page for page in PAGES if page not in {"catalogue", "open"})
HTML = "<img src=x onerror=alert(1)>"
HOSTILE_EXAMPLE = Example(
    run="sample_traces/faults/pageable",
    label=HTML,
    device="NVIDIA H200",
    step_ms=40.0,
    saving_ms=20.0,
    low_ms=15.0,
    high_ms=None,
    basis="replayed",
    message=HTML,
    location=HTML,
)


def with_tables(report: Report, name: str = "gemm_kernel") -> Report:
    table = reports.table_source(
        telemetry=fakes.telemetry(),
        step_log=fakes.step_log(),
        steps=fakes.steps(),
        kernels=fakes.kernels(name),
        launches=fakes.launches(),
    )
    devices = [{"index": 0, "uuid": "GPU-a"}, {"index": 1, "uuid": "GPU-b"}]
    return replace(report, table=table, manifest={"devices": devices})


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ["gpu", "clean", "cpu", "ranks", "hostile", "stepless"])
def test_every_page_shows_every_report(show: Show, name: str, page: str) -> None:
    assert not show(with_tables(getattr(reports, f"{name}_report")()), page).exception


@pytest.mark.parametrize("page", OF_A_REPORT)
def test_a_page_without_a_report_offers_to_open_one(show: Show, page: str) -> None:
    at = show(None, page)
    assert not at.exception
    assert [tab.label for tab in at.tabs] == ["Recorded runs", "By path", "Upload"]


@pytest.mark.parametrize("page", OF_A_REPORT)
def test_a_page_of_what_could_not_be_read_says_why_as_text(show: Show, page: str) -> None:
    at = show(Finished(None, state="failed", error=f"one: no trace {HTML}"), page)
    assert not at.exception
    assert at.code[0].value == f"one: no trace {HTML}"
    assert "Open something else" in [button.label for button in at.button]


@pytest.mark.parametrize("page", OF_A_REPORT)
def test_a_page_of_what_is_being_read_says_how_far_it_is(show: Show, page: str) -> None:
    at = show(Finished(None, state="running"), page)
    assert not at.exception
    assert at.get("progress")[0].value == 25
    assert "Cancel" in [button.label for button in at.button]


def test_cancelling_leaves_the_diagnosis_and_offers_to_open_something(show: Show) -> None:
    running = Finished(None, state="running")
    at = show(running)
    next(button for button in at.button if button.label == "Cancel").click().run()
    assert not at.exception
    assert len(running.left) == 1
    assert [tab.label for tab in at.tabs] == ["Recorded runs", "By path", "Upload"]


def test_overview_says_verdict_step_time_parts_findings_notes_and_what_was_not_checked(show: Show) -> None:
    said = words(show(with_tables(reports.gpu_report())))
    for text in (
        "Copies from pageable memory take 50.1 of 68.4 ms of each step",
        "68.4 ms",
        "median of 40 unprofiled steps",
        "94%",
        "exposed copy",
        "= 68.4 ms",
        "Gives back 48.2 ms (46.0–50.1) of each step = 70%",
        "train.py(31): to",
        'images = images.to("cuda", non_blocking=True)',
        "confidence high (0.91)",
        "The card drew 699 of 700 W in 92% of samples.",
        "The run has no temperature",
        "takes as long as measured to within 1.2%",
        "stepscope explain pageable-copy",
    ):
        assert text in said, text


def test_findings_stay_in_the_order_of_the_report(show: Show) -> None:
    said = words(show(reports.gpu_report()))
    places = [said.index(title) for title in ("1. Copies from", "2. The device waits", "3. The optimizer runs")]
    assert places == sorted(places)


def test_a_run_with_nothing_to_fix_says_so(show: Show) -> None:
    said = words(show(reports.clean_report()))
    assert "Nothing was found that is worth fixing." in said
    assert "Gives back" not in said


def test_a_cpu_run_shows_host_parts_and_no_gpu_panels(show: Show) -> None:
    at = show(with_tables(reports.cpu_report()))
    assert "backward" in words(at)
    assert "mean step, on the host" in words(at)
    (chart,) = at.get("plotly_chart")
    assert "CPU, % of all cores" in chart.proto.spec
    assert "GPU" not in chart.proto.spec


def test_a_trace_alone_says_how_to_get_telemetry(show: Show) -> None:
    at = show(reports.gpu_report())
    assert not at.get("plotly_chart")
    assert "python -m collect -- your_script.py" in words(at)


@pytest.mark.parametrize("page", PAGES)
def test_names_are_text_whatever_they_contain(show: Show, page: str) -> None:
    at = show(with_tables(reports.hostile_report(), name=reports.HOSTILE), page)
    assert not at.exception
    for element in at.html:
        assert "<img" not in element.body
    for element in (*at.markdown, *at.caption, *at.title, *at.subheader):
        assert "<img" not in element.value
        assert "cmd()" not in element.value
    for chart in at.get("plotly_chart"):
        assert "<img" not in chart.proto.spec


def test_tables_are_paged_and_counted(show: Show) -> None:
    rows = pl.DataFrame({"id": range(120), "name": [f"kernel {number}" for number in range(120)]})
    table = reports.table_source(kernels=rows)
    at = show(replace(reports.gpu_report(), table=table), "tables")
    at.selectbox[0].select("kernels").run()
    assert at.dataframe[0].value["id"].tolist() == list(range(50))
    assert "120 rows match; rows 1 to 50 are shown" in words(at)
    at.number_input[0].set_value(3).run()
    assert at.dataframe[0].value["id"].tolist() == list(range(100, 120))
    at.text_input[0].input("KERNEL 11").run()
    assert at.dataframe[0].value["id"].tolist() == [11, *range(110, 120)]
    assert not at.exception


def test_a_table_that_the_run_lacks_says_why(show: Show) -> None:
    at = show(reports.gpu_report(), "tables")
    at.selectbox[0].select("copies").run()
    assert "This run has none: the trace has no device work" in words(at)


def test_times_beyond_what_a_browser_keeps_exactly_are_shown_to_the_last_digit(show: Show) -> None:
    rows = pl.DataFrame({"id": [1], "start_ns": [1_764_625_385_123_456_789]})
    at = show(replace(reports.gpu_report(), table=reports.table_source(kernels=rows)), "tables")
    at.selectbox[0].select("kernels").run()
    assert at.dataframe[0].value["start_ns"].tolist() == ["1764625385123456789"]


def test_data_quality_lists_causes_and_files_set_aside(show: Show) -> None:
    at = show(reports.ranks_report(), "data_quality")
    assert at.dataframe[0].value["cause"].tolist() == ["unended event"]
    assert at.dataframe[1].value["file"].tolist() == ["rank2.json"]


def test_catalogue_tells_every_detector_and_finds_by_word(show: Show) -> None:
    at = show(None, "catalogue")
    everything = words(at)
    at.text_input[0].input("pageable").run()
    assert "pageable-copy" in everything
    assert "launch-bound" in everything
    assert "pageable-copy" in words(at)
    assert "launch-bound" not in words(at)


def test_catalogue_shows_a_real_finding_where_a_sample_run_has_one(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze, "examples", lambda: {"pageable-copy": HOSTILE_EXAMPLE})
    at = show(None, "catalogue")
    at.text_input[0].input("pageable-copy").run()
    assert "Gives back 20.0 ms (15.0–?) of each step = 50%, replayed." in words(at)
    assert "stepscope report sample_traces/faults/pageable" in words(at)
    assert "<img" not in words(at)
    at.text_input[0].input("gc-pause").run()
    assert "None of the sample runs shows it." in words(at)
    assert "Gives back" not in words(at)


def test_a_profiled_step_time_can_be_corrected(show: Show) -> None:
    at = show(with_tables(reports.cpu_report()))
    at.number_input[0].set_value(900.0).run()
    assert at.session_state["source"].baseline_step_ms == 900.0
    assert not at.exception


def test_another_rank_can_be_put_first(show: Show) -> None:
    at = show(with_tables(reports.ranks_report()))
    next(box for box in at.selectbox if box.label == "Rank").select(0).run()
    assert at.session_state["source"].rank == 0
    assert not at.exception
