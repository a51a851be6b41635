"""Runs of small copies are found with what one packed copy gives back; few, large or interrupted ones are not."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "many-small-copies"
SIZE = 65_536
H2D, D2H = "HtoD (Pageable -> Device)", "DtoH (Device -> Pageable)"


def training(
    count: int = 40,
    size: int = SIZE,
    kind: str = H2D,
    *,
    host_us: float = 90,
    kernel_us: float = 1_000,
    join_us: float = 0,
    apart: bool = False,
) -> Timeline:
    """Steps of many copies, each an operator that takes host_us before it, then a kernel."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            for _ in range(count):
                with line.op("aten::to"):
                    line.python(host_us)
                    with line.op("aten::copy_", input_dims="[[512, 64]]"):
                        line.copy(10, size, kind)
                if apart:
                    line.kernel(5)
            if join_us:
                with line.op("aten::cat"):
                    line.python(join_us)
                    line.kernel(20)
            line.kernel(kernel_us)
    return line


#: the first copy waits for the kernel launched before it: 1,005 + 10, then 39 of 90 + 5 + 10
STEP_US = 1_015 + 39 * 105
#: 40 x 65,536 bytes at 0.8 of 31.5 GB/s, 1.5 to set up, and the kernel behind it
PACKED_US = 40 * SIZE / 25_200 + 1.5 + 1_000


def test_one_packed_copy_takes_their_place() -> None:
    finding = one(training().workspace(baseline_step_ms=STEP_US / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((STEP_US - PACKED_US) * US, rel=0.02)
    # at 0.4 of the link, and 15 % either way
    slow = 1_000 + 2 * (PACKED_US - 1_000)
    assert finding.step_saving_low_ns == pytest.approx((STEP_US - slow) * 0.85 * US, rel=0.04)
    assert finding.basis == "replayed"
    assert finding.message.startswith("40 host-to-device copies a step move 2.62 MB in all, 65.5 kB each")


def test_the_operator_that_joins_the_pieces_goes_too() -> None:
    """300 + 5 for the join and 20 on the device, now before the kernel."""
    now_us = STEP_US + 305 + 15
    finding = one(training(join_us=300).workspace(baseline_step_ms=now_us / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((now_us - PACKED_US) * US, rel=0.02)


def test_it_says_where() -> None:
    finding = one(training().workspace(), ID)
    assert finding.location == "aten::copy_ [[512, 64]]"
    assert finding.evidence.select("step", "direction", "count", "bytes").rows() == [
        (step, "host-to-device", 40, 40 * SIZE) for step in range(4)
    ]


def test_results_read_one_by_one_count_too() -> None:
    finding = one(training(kind=D2H, host_us=10).workspace(), ID)
    assert "40 device-to-host copies a step" in finding.message


def test_silent_about_inputs_labels_and_a_mask() -> None:
    assert findings(training(count=7).workspace(), ID) == ()


def test_silent_about_large_copies() -> None:
    assert findings(training(size=2 << 20).workspace(), ID) == ()


def test_silent_where_kernels_use_each_piece_at_once() -> None:
    assert findings(training(apart=True).workspace(), ID) == ()


def test_silent_about_a_checkpoint() -> None:
    """Copies to the host with much host time between them are written somewhere."""
    assert findings(training(kind=D2H, host_us=500).workspace(), ID) == ()


def test_silent_where_the_device_hides_them() -> None:
    assert findings(training(host_us=1, kernel_us=200_000).workspace(), ID) == ()


def test_silent_outside_steps() -> None:
    line = training(count=1)
    for _ in range(40):
        line.copy(10, SIZE)
    assert findings(line.workspace(), ID) == ()


def pinned(*, freeing_us: float = 0, host_us: float = 90, kind: str = "HtoD (Pinned -> Device)") -> Timeline:
    """As above, each copy a call that returns at once and a wait for it; the pieces are joined, then freed."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            for _ in range(40):
                with line.op("aten::to"):
                    line.python(host_us)
                    line.copy(10, SIZE, kind)
                    line.synchronise()
            with line.op("aten::cat"):
                line.python(20)
                line.kernel(20)
            line.python(freeing_us)
            with line.op("aten::linear"):
                line.kernel(300)
    return line


def saved_us(line: Timeline, step_ms: float) -> float:
    finding = one(line.workspace(baseline_step_ms=step_ms), ID)
    assert finding.step_saving_ns is not None
    return finding.step_saving_ns / US


def test_nobody_waits_for_the_packed_copy() -> None:
    """Now 300 before the first copy, 40 x 105 and the join; then 1.5 + 104 and 300 on the device, the host far ahead."""
    step_us = pinned().workspace().get("replay").profiled.step_ns / US
    assert saved_us(pinned(), step_us / 1e3) == pytest.approx(step_us - (300 + 1.5 + 40 * SIZE / 25_200), abs=12)


def test_results_on_the_host_are_waited_for_all_the_same() -> None:
    """The packed copy and the wait for it stand between the kernels: 20 on the host before the join come on top."""
    line = pinned(kind="DtoH (Device -> Pinned)", host_us=10)
    step_us = line.workspace().get("replay").profiled.step_ns / US
    assert saved_us(line, step_us / 1e3) < step_us - (300 + 1.5 + 40 * SIZE / 25_200 + 20)


def test_freeing_the_joined_pieces_goes_too() -> None:
    """500 after the join, of which nothing is left for a packed tensor, but cautiously all of it."""
    without, freeing = pinned(), pinned(freeing_us=500)
    step_us = freeing.workspace().get("replay").profiled.step_ns / US
    shorter_us = without.workspace().get("replay").profiled.step_ns / US
    assert step_us - saved_us(freeing, step_us / 1e3) == pytest.approx(shorter_us - saved_us(without, shorter_us / 1e3), abs=12)
    finding = one(freeing.workspace(baseline_step_ms=step_us / 1e3), ID)
    assert finding.step_saving_low_ns < 0.85 * (finding.step_saving_ns - 80 * US)
