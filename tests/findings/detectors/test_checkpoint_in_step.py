"""Checkpoints are long runs of copies to the host with writing between them."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "checkpoint-in-step"
D2H = "DtoH (Device -> Pageable)"


def training(
    tensors: int = 20, kind: str = D2H, *, write_us: float = 400, saving_steps: tuple[int, ...] = (0, 1, 2, 3), load_us: float = 0
) -> Timeline:
    """Steps of a kernel; some then copy tensors of 100 kB to the host and write each."""
    line = Timeline()
    for number in range(4):
        with line.step():
            with line.op("aten::addmm"):
                line.kernel(1_000)
            for _ in range(tensors if number in saving_steps else 0):
                with line.op("aten::copy_", input_dims="[[25000]]"):
                    line.copy(50, 100_000, kind)
                line.python(write_us)
            if load_us:
                line.load(load_us)
    return line


#: kernel until 1,005, first copy until 1,055, 400; nineteen more of 5 + 50 + 400
STEP_US = 1_055 + 400 + 19 * 455


def test_without_it_the_step_is_the_kernel() -> None:
    finding = one(training().workspace(baseline_step_ms=STEP_US / 1e3), ID)
    assert finding.kind == "saving"
    assert finding.step_saving_ns == pytest.approx((STEP_US - 1_000) * US, rel=0.02)
    # cautious: the last write, after the last copy, stays: 400 run beside the kernel
    assert finding.step_saving_low_ns == pytest.approx((STEP_US - 1_000) * 0.85 * US, rel=0.03)
    assert finding.message.startswith("20 tensors (2 MB) go to the host and into a file in 10.1 ms, in 4 of 4 recorded steps")
    assert finding.location == "aten::copy_ [[25000]]"
    assert finding.evidence["count"].to_list() == [20] * 4


def test_every_second_step_is_averaged() -> None:
    """Two of four steps take 10,100, two 1,000."""
    finding = one(training(saving_steps=(1, 3)).workspace(baseline_step_ms=(STEP_US + 1_000) / 2e3), ID)
    assert finding.step_saving_ns == pytest.approx((STEP_US - 1_000) / 2 * US, rel=0.02)
    assert "in 2 of 4 recorded steps" in finding.message


def test_seen_once_it_is_a_note_with_its_own_cost() -> None:
    finding = one(training(saving_steps=(2,)).workspace(), ID)
    assert finding.kind == "note"
    assert finding.step_saving_ns is None
    assert finding.message.startswith("In one of 4 recorded steps 20 tensors (2 MB)")
    assert finding.location == "aten::copy_ [[25000]]"


def test_loading_beside_it_stays() -> None:
    with_loading = one(training(load_us=2_000).workspace(baseline_step_ms=(STEP_US + 2_000) / 1e3), ID)
    assert with_loading.step_saving_ns == pytest.approx((STEP_US - 4) * US, rel=0.02)


def test_silent_about_a_few_results() -> None:
    assert findings(training(tensors=16).workspace(), ID) == ()


def test_silent_where_nothing_is_written_between() -> None:
    """50 of every 60 are copying: an offload, not a file."""
    assert findings(training(write_us=5).workspace(), ID) == ()


def test_silent_about_copies_to_the_device() -> None:
    assert findings(training(kind="HtoD (Pageable -> Device)").workspace(), ID) == ()


def test_silent_about_a_checkpoint_between_cycles() -> None:
    line = training(saving_steps=())
    for _ in range(20):
        line.copy(50, 100_000, D2H)
        line.python(400)
    assert findings(line.workspace(), ID) == ()
