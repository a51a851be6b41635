"""Marked collections are found with what they cost; unmarked ones are said to be unknown, not absent."""

from __future__ import annotations

import pytest

from analyze import engine
from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "gc-pause"
LABEL = "gc.collect generation 2"


def training(
    pause_us: float = 3_000, in_steps: tuple[int, ...] = (0, 1, 2, 3), *, label: str = LABEL, kernel_us: float = 1_000
) -> Timeline:
    """Steps of a kernel, 996 in Python, and in some a collection."""
    line = Timeline()
    for number in range(4):
        with line.step():
            line.kernel(kernel_us)
            line.python(996)
            if number in in_steps:
                with line.label(label):
                    line.python(pause_us)
    return line


def test_without_them_the_loop_runs_on() -> None:
    """4,000 on the host, of which 3,000 go."""
    finding = one(training().workspace(baseline_step_ms=4.0), ID)
    assert finding.step_saving_ns == pytest.approx(3_000 * US, rel=0.01)
    assert finding.step_saving_low_ns <= finding.step_saving_ns <= finding.step_saving_high_ns
    assert finding.basis == "replayed"
    assert finding.message.startswith("1 garbage collections a step, the longest of 3 ms")
    assert finding.location is not None
    assert finding.evidence["dur_ns"].to_list() == [3_000 * US] * 4


def test_one_of_four_is_averaged_and_less_sure() -> None:
    once, always = (one(training(in_steps=steps).workspace(baseline_step_ms=4.0), ID) for steps in ((2,), (0, 1, 2, 3)))
    assert once.step_saving_ns == pytest.approx(4_000 * (750 / 1_750) * US, rel=0.01)
    assert once.confidence == pytest.approx(0.75 * always.confidence, rel=0.02)


def test_silent_where_none_was_marked() -> None:
    assert findings(training(in_steps=()).workspace(manifest={}), ID) == ()


def test_skipped_where_nobody_would_have_marked_them() -> None:
    outcome = training(in_steps=()).workspace().outcome(*engine.detectors()[ID])
    assert (outcome.state, outcome.reason) == ("skipped", "garbage collections are marked only in runs recorded by stepscope")


def test_silent_about_young_generations() -> None:
    assert findings(training(pause_us=8).workspace(), ID) == ()


def test_silent_where_the_device_hides_them() -> None:
    assert findings(training(kernel_us=50_000).workspace(), ID) == ()


def test_silent_about_other_labels() -> None:
    assert findings(training(label="my gc.collect").workspace(manifest={}), ID) == ()


def test_silent_outside_steps() -> None:
    line = training(in_steps=())
    with line.label(LABEL):
        line.python(9_000)
    assert findings(line.workspace(manifest={}), ID) == ()
