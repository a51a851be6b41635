"""Results copied to the host are found with the host's work on them; scalars, checkpoints and inputs are not."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "device-to-host-copy"
D2H = "DtoH (Device -> Pageable)"


def training(
    size: int = 4_000_000,
    kind: str = D2H,
    *,
    count: int = 1,
    work_us: float = 3_000,
    load_us: float = 0,
    kernel_us: float = 2_000,
) -> Timeline:
    """Steps of a kernel, copies of its result, and work on them."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            with line.op("aten::addmm"):
                line.kernel(kernel_us)
            for _ in range(count):
                with line.op("aten::copy_", input_dims="[[64, 1000]]"):
                    line.copy(1_000, size, kind)
            if work_us:
                with line.op("aten::argmax"):
                    line.python(work_us)
            if load_us:
                line.load(load_us)
    return line


def test_copy_and_work_go_away_together() -> None:
    """Kernel until 2,005, copy until 3,005, work until 6,005; without them the kernels run back to back."""
    finding = one(training().workspace(baseline_step_ms=6.005), ID)
    assert finding.step_saving_ns == pytest.approx((6_005 - 2_000) * US, rel=0.01)
    # cautious: only the copy's wait goes, the work runs beside the kernel: 3,004 on the host
    assert finding.step_saving_low_ns == pytest.approx((6_005 - 3_004) * 0.85 * US, rel=0.03)
    assert finding.basis == "replayed"
    assert finding.message.startswith("4 MB a step go to the host at 4 GB/s (1 ms), and the host then works 3 ms")


def test_it_says_where() -> None:
    finding = one(training().workspace(), ID)
    assert finding.location == "aten::copy_ [[64, 1000]]"
    assert finding.evidence.select("bytes", "op").rows() == [(4_000_000, "aten::copy_")] * 4
    assert "copy_ids" not in finding.evidence.columns


def test_loading_after_the_copy_is_not_work_on_it() -> None:
    """3,000 of loading stay: they run beside the kernel."""
    finding = one(training(work_us=0, load_us=3_000).workspace(baseline_step_ms=6.005), ID)
    assert finding.step_saving_ns == pytest.approx((6_005 - 3_004) * US, rel=0.01)


def test_several_tensors_are_one_result() -> None:
    """Three copies: until 2,005, 3,005, then 1,005 each; 3,000 of work."""
    step_us = 2_005 + 1_000 + 2 * 1_005 + 3_000
    finding = one(training(count=3).workspace(baseline_step_ms=step_us / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((step_us - 2_000) * US, rel=0.01)


def test_silent_about_scalars() -> None:
    assert findings(training(size=4).workspace(), ID) == ()


def test_silent_about_a_checkpoint() -> None:
    assert findings(training(count=17).workspace(), ID) == ()


def test_silent_about_copies_to_the_device() -> None:
    assert findings(training(kind="HtoD (Pageable -> Device)").workspace(), ID) == ()


def test_silent_where_the_copy_is_small_beside_the_step() -> None:
    assert findings(training(work_us=0, kernel_us=100_000).workspace(), ID) == ()


def test_silent_outside_steps() -> None:
    line = training(size=4)
    line.copy(9_000, 4_000_000, D2H)
    assert findings(line.workspace(), ID) == ()
