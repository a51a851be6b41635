"""What a finding and a report say about themselves."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from analyze.findings.model import Detector, Finding, Outcome, Remedy, Report, Severity, confidence_word
from analyze.schema import DATA_QUALITY, empty
from tests.reports import SUMMARY, gpu_report


def _detector(identity: str) -> Detector:
    return Detector(id=identity, title="t", meaning="m", measured="m", fix=(Remedy(text="f"),), doc="https://example.org")


NOTE = Finding(detector="b-found", kind="note", message="it is so", confidence=0.9)
REPORT = Report(
    source="run",
    summary=SUMMARY,
    verdict="v",
    findings=(),
    notes=(NOTE,),
    outcomes=(
        Outcome(detector=_detector("a-clear"), state="clear"),
        Outcome(detector=_detector("b-found"), state="found", findings=(NOTE,)),
        Outcome(detector=_detector("c-skipped"), state="skipped", reason="no telemetry"),
    ),
    data_quality=empty(DATA_QUALITY),
    ranks=(),
    set_aside=(),
    info=None,
    manifest=None,
    next_steps=(),
    table=lambda name: pl.DataFrame({"name": [name]}),
)


@pytest.mark.parametrize(
    ("share", "severity"),
    [(0.0, "low"), (0.029, "low"), (0.03, "medium"), (0.099, "medium"), (0.10, "high"), (1.0, "high")],
)
def test_severity_is_the_share_of_the_step(share: float, severity: str) -> None:
    assert Severity.of_share(share) is Severity(severity)


@pytest.mark.parametrize(
    ("confidence", "word"), [(0.0, "low"), (0.39, "low"), (0.4, "medium"), (0.74, "medium"), (0.75, "high"), (1.0, "high")]
)
def test_confidence_has_a_word(confidence: float, word: str) -> None:
    assert confidence_word(confidence) == word


def test_a_note_claims_no_time() -> None:
    assert (NOTE.step_saving_ns, NOTE.step_saving_low_ns, NOTE.step_saving_high_ns, NOTE.basis) == (None, None, None, None)


def test_what_looked_and_found_nothing_is_told_from_what_could_not_look() -> None:
    assert REPORT.clear == ("a-clear",)
    assert REPORT.skipped == (("c-skipped", "no telemetry"),)


def test_detectors_are_found_by_id() -> None:
    assert list(REPORT.detectors) == ["a-clear", "b-found", "c-skipped"]


@pytest.mark.parametrize("thing", [NOTE, REPORT, SUMMARY, _detector("x-y")])
def test_nothing_can_be_changed_afterwards(thing: object) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, dataclasses.fields(thing)[0].name, "other")  # type: ignore[arg-type]


def test_fields_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        Remedy("text")  # type: ignore[misc]


def test_a_notebook_shows_the_page() -> None:
    assert "Copies from pageable memory" in gpu_report()._repr_html_()


def test_a_finding_without_remedies_of_its_own_has_the_detectors() -> None:
    assert REPORT.fix_of(NOTE) == (Remedy(text="f"),)
    assert REPORT.fix_of(dataclasses.replace(NOTE, fix=(Remedy(text="for this run"),))) == (Remedy(text="for this run"),)
    assert REPORT.fix_of(dataclasses.replace(NOTE, fix=())) == ()
