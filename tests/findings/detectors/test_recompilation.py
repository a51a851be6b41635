"""Compilation inside steps is a saving where it keeps happening, a note where it happened once."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "recompilation"
LABEL = "entire_frame_compile (dynamo_timed)"


def training(
    in_steps: tuple[int, ...] = (1, 3), compile_us: float = 50_000, *, label: str = LABEL, inside: bool = True
) -> Timeline:
    """Steps of 2,004 on the host, some with a compilation."""
    line = Timeline()
    for number in range(4):
        with line.step():
            if number in in_steps and inside:
                with line.label(label):
                    line.python(compile_us)
            line.python(2_000)
            line.kernel(1_000)
    if not inside:
        with line.label(label):
            line.python(compile_us)
    return line


def test_compiled_once_the_steps_are_short() -> None:
    """Two of four steps compile for 50,000: 25,000 of a mean of 27,004."""
    finding = one(training().workspace(baseline_step_ms=27.004), ID)
    assert finding.kind == "saving"
    assert finding.step_saving_ns == pytest.approx(25_000 * US, rel=0.01)
    assert finding.step_saving_low_ns <= finding.step_saving_ns <= finding.step_saving_high_ns
    assert finding.message.startswith("2 of 4 recorded steps compile, for up to 50 ms")
    assert finding.location == LABEL
    assert finding.evidence["step"].to_list() == [1, 3]


def test_seen_once_it_is_a_note() -> None:
    finding = one(training(in_steps=(0,)).workspace(), ID)
    assert (finding.kind, finding.step_saving_ns) == ("note", None)
    assert finding.message.startswith("One of 4 recorded steps compiles for 50 ms")
    assert finding.location == LABEL


@pytest.mark.parametrize(
    "label", ["_compile.compile_inner (dynamo_timed)", "backend_compile", "compile_fx", "TorchDynamo compile"]
)
def test_every_release_s_label_counts(label: str) -> None:
    assert len(findings(training(label=label).workspace(), ID)) == 1


@pytest.mark.parametrize(
    "label", ["TorchDynamo Cache Lookup", "Torch-Compiled Region: 0/1", "CompiledFunction", "dynamo guard check", "my compile"]
)
def test_silent_about_running_compiled_code(label: str) -> None:
    assert findings(training(label=label).workspace(), ID) == ()


def test_silent_about_bookkeeping() -> None:
    assert findings(training(compile_us=4_900).workspace(), ID) == ()


def test_silent_outside_steps() -> None:
    assert findings(training(inside=False).workspace(), ID) == ()


def test_silent_without_compilation() -> None:
    assert findings(training(in_steps=()).workspace(), ID) == ()
