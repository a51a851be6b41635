"""A device that waits for launches is told from one that is busy, and from one that waits for something else."""

from __future__ import annotations

import pytest

from analyze.analyses.collective_calls import COLUMNS as CALLS
from tests.builders import frame
from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "launch-bound"


def training(
    launches: int = 50, *, host_us: float = 196, kernel_us: float = 60, extra_us: float = 0, load_us: float = 0
) -> Timeline:
    """Steps of operators with host_us each, one kernel in each."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            if load_us:
                line.load(load_us)
            line.python(extra_us)
            for number in range(launches):
                with line.op("aten::mul" if number % 5 else "aten::addmm"):
                    # every fifth operator takes twice as long, the others less
                    line.python(host_us * (1.8 if number % 5 == 0 else 0.8))
                    line.kernel(kernel_us)
    return line


def test_captured_the_step_is_the_device_s() -> None:
    """50 launches of 200 are 10,000; captured: 50 kernels of 60 with at most 0.8 between them."""
    finding = one(training().workspace(), ID)
    assert finding.step_saving_ns == pytest.approx((10_000 - 50 * 60.8) * US, rel=0.02)
    assert finding.basis == "replayed"
    assert finding.message.startswith(
        "50 launches a step, of 60 µs on the GPU on average, come later than it could run them; captured"
    )


def test_the_lower_bound_leaves_a_quarter_of_the_launching() -> None:
    """A quarter of 10,000 on the host is less than the device's 3,040, so it changes little: 15 % and the window's error."""
    finding = one(training().workspace(), ID)
    assert 0.78 * finding.step_saving_ns < finding.step_saving_low_ns <= 0.85 * finding.step_saving_ns
    small = one(training(kernel_us=10).workspace(), ID)
    assert small.step_saving_low_ns == pytest.approx((10_000 - 2_500) * 0.85 * US, rel=0.03)


def test_it_names_the_operator_that_the_device_waits_for_most() -> None:
    """Ten waits of about 304 for addmm, forty of 100 for mul: 3,000 to 4,000."""
    finding = one(training().workspace(), ID)
    assert finding.location.startswith("aten::mul (")
    assert finding.location.endswith("% of the idle time)")
    assert finding.evidence["op"][0] == "aten::addmm"
    assert finding.evidence.columns == ["step", "device", "start_ns", "dur_ns", "launch_ns", "op_id", "op", "source"]
    assert finding.evidence.height == 50


def test_it_names_the_source_line_where_the_trace_has_stacks() -> None:
    line = training()
    line.frame("train.py(12): forward", 0, line.now + 1)
    assert one(line.workspace(), ID).location.startswith("train.py(12): forward · aten::mul")


def test_without_operators_there_is_no_place_but_still_a_finding() -> None:
    line = training()
    line.events["op_events"].clear()
    # with no operator in the trace the host's time between launches has no name
    for found in findings(line.workspace(), ID):
        assert found.location is None


def test_loading_is_not_launching() -> None:
    """5,000 of loading stay; the device's 3,040 run beside the next loading."""
    finding = one(training(load_us=5_000).workspace(), ID)
    assert finding.step_saving_ns == pytest.approx((15_000 - 5_030) * US, rel=0.02)


def test_long_host_work_is_not_launching() -> None:
    finding = one(training(extra_us=5_000).workspace(), ID)
    assert finding.step_saving_ns < 10_100 * US


def test_silent_where_the_device_is_busy() -> None:
    assert findings(training(host_us=40, kernel_us=200).workspace(), ID) == ()


def test_silent_where_there_is_little_to_launch() -> None:
    assert findings(training(launches=19, host_us=1_000).workspace(), ID) == ()


def test_silent_below_the_floor() -> None:
    """190 a step of about 10,000: the device idles for less than 2 %."""
    assert findings(training(launches=25, host_us=396, kernel_us=398).workspace(), ID) == ()


def test_silent_where_a_graph_is_launched_already() -> None:
    """All kernels hang on one call."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            line.kernel(60, call="cudaGraphLaunch")
            start = line.free[7]
            for number in range(49):
                row = dict(line.events["device_events"][-1]) | {"id": 10_000 + line.now * 50 + number}
                line.events["device_events"].append(row | {"start_ns": round((start + 61 * number) * US)})
            line.free[7] = start + 61 * 49
    assert findings(line.workspace(), ID) == ()


def test_waiting_for_an_exchange_over_the_host_is_not_launching() -> None:
    """Captured, the device needs 50 x 20.8; with the 2,850 up to the first launch left, as an exchange ends there, the host 2,880."""
    line = training(kernel_us=20, extra_us=2_500)
    step_ns = round(line.now / 4 * US)
    calls = [{"start_ns": step * step_ns, "dur_ns": 2_500 * US, "blocked_ns": 2_500 * US} for step in range(4)]
    alone = one(line.workspace(), ID)
    exchanging = one(line.workspace(collective_calls=frame(CALLS, *calls)), ID)
    assert alone.step_saving_ns - exchanging.step_saving_ns == pytest.approx((2_880 - 1_040) * US, rel=0.03)
