"""Recorded workloads whose bottleneck, fix and measured saving are known: found, predicted, and silent once fixed.

Each recording is diagnosed once, with the unprofiled step time that was measured beside it.
"""

from __future__ import annotations

import json
import statistics
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analyze import diagnose

if TYPE_CHECKING:
    from analyze.findings.model import Finding, Report

FOLDER = Path(__file__).parents[2] / "shared" / "planted"
CASES: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text())["cases"] if FOLDER.is_dir() else {}
TRUTH: dict[str, dict[str, Any]] = json.loads((FOLDER / "traces/truth.json").read_text())["results"] if FOLDER.is_dir() else {}
PLANTED = [name for name, case in CASES.items() if case["names"]]
PREDICTED = [name for name, case in CASES.items() if case.get("predict")]
SILENT = [name for name, case in CASES.items() if case["names"] and case.get("silent", True)]
QUIET = [name for name, case in CASES.items() if not case["names"]]
#: targets of the scorer beside the recordings
MAX_ERROR, MAX_MEDIAN_ERROR, MIN_COVERED, MAX_MEDIAN_WIDTH = 0.35, 0.10, 0.80, 0.30
MAX_MEDIAN_REPLAY_ERROR = 0.03

pytestmark = pytest.mark.skipif(not CASES, reason="the planted recordings are not beside the project")


@cache
def report(recording: str) -> Report:
    """Diagnosis of one recording."""
    trace = FOLDER / f"traces/{recording}.pt.trace.json.gz"
    if not trace.exists():
        pytest.skip(f"{recording} was not recorded")
    return diagnose(str(trace), baseline_step_ms=TRUTH[recording]["step_ms"], cache=False)


def planted(name: str) -> Finding:
    """The finding that names what is wrong in it."""
    found = [finding for finding in report(f"{name}.bad").findings if finding.detector in CASES[name]["names"]]
    assert found, [finding.detector for finding in report(f"{name}.bad").findings]
    return found[0]


def left_range(name: str) -> tuple[float, float]:
    """Measured share of the step that is left after the fix, over the rounds."""
    before, after = (TRUTH[f"{name}.{kind}"]["rounds_ms"] for kind in ("bad", "fixed"))
    shares = [b / a for a, b in zip(before, after, strict=True)]
    return min(shares), max(shares)


def error(name: str) -> float:
    """How far the predicted share lies outside the measured range, relative to its nearer end."""
    finding, (least, most) = planted(name), left_range(name)
    left = 1 - finding.step_saving_ns / (TRUTH[f"{name}.bad"]["step_ms"] * 1e6)
    return max(least / max(left, 1e-9) - 1, left / most - 1, 0.0)


def bounds(name: str) -> tuple[float, float]:
    """Share of the step left after the fix by the finding's own bounds."""
    finding, step_ns = planted(name), TRUTH[f"{name}.bad"]["step_ms"] * 1e6
    return 1 - finding.step_saving_high_ns / step_ns, 1 - finding.step_saving_low_ns / step_ns


@pytest.mark.parametrize("name", PLANTED)
def test_the_cause_is_found_and_named_first(name: str) -> None:
    planted(name)
    accepted = CASES[name].get("first", CASES[name]["names"])
    assert report(f"{name}.bad").findings[0].detector in accepted


@pytest.mark.parametrize("name", PREDICTED)
def test_what_the_fix_gives_back_is_predicted(name: str) -> None:
    assert error(name) <= MAX_ERROR


@pytest.mark.parametrize("name", PLANTED)
def test_it_says_where_and_shows_evidence(name: str) -> None:
    finding = planted(name)
    assert finding.location
    assert not finding.evidence.is_empty()
    assert finding.step_saving_low_ns <= finding.step_saving_ns <= finding.step_saving_high_ns


@pytest.mark.parametrize("name", SILENT)
def test_it_is_silent_once_fixed(name: str) -> None:
    fixed = report(f"{name}.fixed")
    claims = [f.step_saving_ns / fixed.summary.step_time.mean_ns for f in fixed.findings if f.detector in CASES[name]["names"]]
    assert max(claims, default=0.0) < 0.05


@pytest.mark.parametrize("name", QUIET)
def test_it_is_quiet_where_nothing_is_wrong(name: str) -> None:
    clean = report(f"{name}.bad")
    claims = [f.step_saving_ns / clean.summary.step_time.mean_ns for f in clean.findings]
    assert max(claims, default=0.0) < 0.10


def test_predictions_are_close_in_the_median() -> None:
    assert statistics.median(error(name) for name in PREDICTED) <= MAX_MEDIAN_ERROR


def test_bounds_hold_the_truth_and_are_narrow() -> None:
    covered = [bounds(name)[0] <= left_range(name)[1] and bounds(name)[1] >= left_range(name)[0] for name in PREDICTED]
    assert sum(covered) / len(covered) >= MIN_COVERED
    assert statistics.median(bounds(name)[1] - bounds(name)[0] for name in PREDICTED) <= MAX_MEDIAN_WIDTH


def test_unedited_the_replay_gives_the_recorded_steps_back() -> None:
    errors = [report(f"{name}.bad").summary.replay_error_fraction for name in CASES]
    assert statistics.median(errors) <= MAX_MEDIAN_REPLAY_ERROR


@pytest.mark.parametrize("name", CASES)
def test_no_detector_fails_through_a_fault_of_its_own(name: str) -> None:
    for kind in ("bad", "fixed"):
        if f"{name}.{kind}" in TRUTH:
            assert not [reason for _, reason in report(f"{name}.{kind}").skipped if "fault" in reason]


@pytest.mark.parametrize("name", CASES)
def test_parts_add_up_to_the_step(name: str) -> None:
    summary = report(f"{name}.bad").summary
    assert sum(summary.step_parts_ns.values()) == pytest.approx(summary.step_time.mean_ns, rel=1e-3)
    assert summary.floor_ns <= summary.step_time.mean_ns
    assert summary.after_all_fixes_ns <= summary.step_time.mean_ns
