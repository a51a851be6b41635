"""One sentence for every kind of answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyze.findings.model import Finding, Severity
from analyze.verdict import verdict
from tests.reports import LAUNCH_BOUND, MS, PAGEABLE_COPY, STEP, SUMMARY

DETECTORS = {one.id: one for one in (PAGEABLE_COPY, LAUNCH_BOUND)}
#: a step of 100 ms on average, 60 after all fixes
KNOWN = replace(SUMMARY, step_time=replace(STEP, mean_ns=100 * MS, median_ns=99 * MS), after_all_fixes_ns=60 * MS)


def saving(detector: str, ms: float) -> Finding:
    return Finding(detector=detector, message="m", confidence=0.9, basis="replayed", step_saving_ns=ms * MS)


COPY, LAUNCH = saving("pageable-copy", 30), saving("launch-bound", 20)


def test_one_finding_is_named_with_what_its_fix_gives_back() -> None:
    assert verdict(KNOWN, [COPY], DETECTORS) == (
        "Copies from pageable memory hold up the step: a fix gives back about 30 of 100 ms a step (30%)."
    )


def test_several_say_what_all_fixes_leave() -> None:
    assert verdict(KNOWN, [COPY, LAUNCH], DETECTORS).endswith("(30%); all fixes 60 ms.")


@pytest.mark.parametrize("after_ms", [70.0, 69.5, None])
def test_all_fixes_are_left_out_where_the_first_one_gives_as_much(after_ms: float | None) -> None:
    known = replace(KNOWN, after_all_fixes_ns=None if after_ms is None else after_ms * MS)
    assert verdict(known, [COPY, LAUNCH], DETECTORS).endswith("(30%).")


def test_nothing_on_a_busy_device_is_an_answer() -> None:
    assert verdict(replace(KNOWN, device_busy_fraction=0.97), [], DETECTORS) == (
        "Nothing worth fixing: the device is busy 97% of the 100 ms step, so only faster kernels or less work would help."
    )


def test_nothing_on_an_idle_device_is_said_as_it_is() -> None:
    assert "busy only 40% of the 100 ms step" in verdict(replace(KNOWN, device_busy_fraction=0.4), [], DETECTORS)


def test_nothing_without_a_device() -> None:
    said = verdict(replace(KNOWN, device_busy_fraction=None), [], DETECTORS)
    assert said == "Nothing worth fixing was found in the 100 ms step."


def test_without_steps_there_is_nothing_to_explain() -> None:
    assert verdict(replace(KNOWN, step_time=None), [], DETECTORS).startswith("No steps were found in this trace")


def test_grave_notes_are_named_as_well() -> None:
    notes = [Finding(detector="launch-bound", kind="note", message="m", confidence=0.9, severity=each) for each in Severity]
    said = verdict(KNOWN, [COPY], DETECTORS, notes)
    assert said.endswith("of 100 ms a step (30%). Also: The device waits for launches.")
    assert "Also" not in verdict(KNOWN, [COPY], DETECTORS, notes[1:])
