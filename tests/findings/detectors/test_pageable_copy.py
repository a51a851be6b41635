"""Pageable copies are found with what pinning gives back, and pinned ones are not."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "pageable-copy"
SIZE = 25_200_000
#: that size at 0.8 of the A100's 31.5 GB/s, and what setting it up takes
PINNED_US = 1_000 + 1.5


def training(
    copy_us: float = 6_000, kind: str = "HtoD (Pageable -> Device)", *, kernel_us: float = 2_000, sync: bool = False
) -> Timeline:
    """Steps of 1,000 in Python, a copy of 25.2 MB, a kernel."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            with line.op("aten::to"), line.op("aten::copy_", input_dims="[[64, 3, 256, 256]]"):
                line.copy(copy_us, SIZE, kind)
                if sync:
                    line.synchronise("cudaStreamSynchronize")
            line.kernel(kernel_us)
    return line


def test_pinned_copies_run_beside_the_host_at_link_speed() -> None:
    """Now: 6,000 copy, 5 to launch, 2,000 kernel, beside which the next Python runs: 8,005. Pinned: 1,001.5 + 2,000 back to back."""
    finding = one(training().workspace(baseline_step_ms=8.005), ID)
    assert finding.step_saving_ns == pytest.approx((8_005 - PINNED_US - 2_000) * US, rel=0.01)
    assert finding.basis == "replayed"
    assert finding.severity is None
    assert finding.message.startswith("1 host-to-device copies a step (25.2 MB) come from pageable memory at 4.2 GB/s")


def test_bounds_span_what_links_reach() -> None:
    """0.6 and 0.95 of the link instead of 0.8, and 15 % either way."""
    finding = one(training().workspace(baseline_step_ms=8.005), ID)
    low = (8_005 - 1_000 * 0.8 / 0.6 - 2_000) * 0.85
    high = (8_005 - 1_000 * 0.8 / 0.95 - 2_000) * 1.15
    # the window's own error widens both
    assert finding.step_saving_low_ns == pytest.approx(low * US, rel=0.1)
    assert finding.step_saving_high_ns == pytest.approx(high * US, rel=0.1)
    assert finding.step_saving_low_ns <= finding.step_saving_ns <= finding.step_saving_high_ns


def test_the_trace_s_own_pinned_rate_is_better_than_the_link_s() -> None:
    """A pinned copy of 2.52 MB in 200: 12.6 GB/s, so the large one would take 2,001.5."""
    line = training()
    line.copy(200, 2_520_000, "HtoD (Pinned -> Device)")
    finding = one(line.workspace(baseline_step_ms=8.005), ID)
    assert finding.step_saving_ns == pytest.approx((8_005 - 2_001.5 - 2_000) * US, rel=0.02)
    assert finding.thresholds["pinned_rate_bytes_per_s"] == pytest.approx(12.6e9)


def test_the_synchronisation_that_belongs_to_the_copy_goes_with_it() -> None:
    with_sync, without = (one(training(sync=sync).workspace(), ID).step_saving_ns for sync in (True, False))
    assert with_sync == pytest.approx(without, rel=0.01)


def test_it_says_where() -> None:
    finding = one(training().workspace(baseline_step_ms=8.005), ID)
    assert finding.location == "aten::copy_ [[64, 3, 256, 256]]"
    assert finding.evidence.columns == ["step", "device", "stream", "start_ns", "dur_ns", "bytes", "op_id", "op", "source"]
    assert finding.evidence["op"].to_list() == ["aten::copy_"] * 4
    assert finding.evidence["bytes"].to_list() == [SIZE] * 4


def test_silent_where_the_memory_is_pinned() -> None:
    assert findings(training(1_000, "HtoD (Pinned -> Device)").workspace(), ID) == ()


def test_silent_about_copies_to_the_host() -> None:
    assert findings(training(6_000, "DtoH (Device -> Pageable)").workspace(), ID) == ()


def test_silent_where_the_device_hides_it() -> None:
    """A small copy before long kernels: the host waits, and is still early."""
    assert findings(training(100, kernel_us=50_000).workspace(), ID) == ()


def test_silent_about_copies_outside_the_steps() -> None:
    line = training(1_000, "HtoD (Pinned -> Device)")
    line.copy(50_000, SIZE)
    assert findings(line.workspace(), ID) == ()
