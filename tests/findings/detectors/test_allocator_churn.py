"""Driver allocations inside steps are found with their waits; first uses and calls that cost nothing are not."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "allocator-churn"


def training(churning: tuple[int, ...] = (0, 1, 2, 3), *, malloc_us: float = 700, free: bool = True) -> Timeline:
    """Steps of a kernel of 5,000; some then return memory to the driver and ask for it again; 1,000 in Python."""
    line = Timeline()
    for number in range(4):
        with line.step():
            line.kernel(5_000)
            if number in churning:
                with line.op("aten::empty"):
                    if free:
                        line.synchronise("cudaFree", extra=300)
                    line.call(malloc_us, "cudaMalloc")
            line.python(1_000)
    return line


def test_without_the_calls_the_device_sets_the_pace() -> None:
    """Kernel until 5,005, the free until 5,305, the allocation until 6,005, Python until 7,005; without them 5,000."""
    finding = one(training().workspace(baseline_step_ms=7.005), ID)
    assert finding.step_saving_ns == pytest.approx((7_005 - 5_000) * US, rel=0.01)
    assert finding.step_saving_low_ns <= finding.step_saving_ns <= finding.step_saving_high_ns
    assert finding.basis == "replayed"
    assert finding.message.startswith("1 allocations and 1 frees a step go to the driver")


def test_it_says_where() -> None:
    finding = one(training().workspace(), ID)
    assert finding.location == "aten::empty"
    assert finding.evidence["name"].to_list() == ["cudaFree"] * 4 + ["cudaMalloc"] * 4
    assert finding.evidence["op"].unique().to_list() == ["aten::empty"]


def test_allocations_alone_cost_host_time() -> None:
    """5,700 + 1,000 + 4 on the host."""
    finding = one(training(free=False, malloc_us=5_700).workspace(baseline_step_ms=6.704), ID)
    assert finding.step_saving_ns == pytest.approx((6_704 - 5_000) * US, rel=0.01)


def test_silent_in_a_settled_loop() -> None:
    assert findings(training(churning=()).workspace(), ID) == ()


def test_silent_about_a_first_use() -> None:
    assert findings(training(churning=(0,)).workspace(), ID) == ()


def test_silent_where_one_step_allocates_a_lot() -> None:
    line = Timeline()
    for number in range(4):
        with line.step():
            line.kernel(1_000)
            for _ in range(20 if number == 0 else 0):
                line.call(700, "cudaMalloc")
            line.python(1_000)
    assert findings(line.workspace(), ID) == ()


def test_silent_where_the_device_hides_them() -> None:
    assert findings(training(free=False, malloc_us=700).workspace(), ID) == ()
