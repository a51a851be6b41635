"""Long host work between launches is found with its name; loading, collecting, updating, saving and launching are not it."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from analyze.analyses.collective_calls import COLUMNS as CALLS
from tests.builders import frame, table
from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "host-work-in-step"


def training(
    work_us: float = 10_000, *, label: str | None = None, op: str | None = None, load: bool = False, kernel_us: float = 1_000
) -> Timeline:
    """Steps of a kernel, host work, a kernel."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.kernel(kernel_us)
            with line.label(label) if label else nullcontext(), line.op(op) if op else nullcontext():
                if load:
                    line.load(work_us)
                else:
                    line.python(work_us)
            line.kernel(kernel_us)
    return line


#: work and two launches
STEP_US = 10_008


def test_out_of_the_loop_the_device_sets_the_pace() -> None:
    finding = one(training().workspace(baseline_step_ms=STEP_US / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((STEP_US - 2_000) * US, rel=0.01)
    # cautious: a third stays, 3,300 and the launches; the last kernels end after the window, which is off by 2.4 %
    assert finding.step_saving_low_ns == pytest.approx(((STEP_US - 3_308) * 0.85 - 0.024 * STEP_US) * US, rel=0.02)
    assert finding.basis == "replayed"
    assert "10 ms on work of its own" in finding.message
    assert "plain Python" in finding.message
    assert finding.evidence.height == 4


def test_a_label_names_it() -> None:
    finding = one(training(label="metrics").workspace(), ID)
    assert finding.location == "metrics"
    assert "metrics" in finding.message


def test_an_operator_and_its_line_name_it() -> None:
    line = training(op="aten::sort")
    line.frame("train.py(40): evaluate", 0, line.now + 1)
    finding = one(line.workspace(), ID)
    assert finding.location == "train.py(40): evaluate · aten::sort"
    assert "operators" in finding.message


def test_silent_about_loading() -> None:
    assert findings(training(load=True).workspace(), ID) == ()


@pytest.mark.parametrize("label", ["gc.collect generation 2", "Optimizer.step#SGD.step"])
def test_silent_about_what_other_findings_claim(label: str) -> None:
    assert findings(training(label=label).workspace(), ID) == ()


def test_silent_about_work_on_results() -> None:
    """After a copy of 1 MB to the host, the time until the next launch belongs to the copy."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.kernel(1_000)
            line.copy(100, 1 << 20, "DtoH (Device -> Pageable)")
            line.python(10_000)
            line.kernel(1_000)
    assert findings(line.workspace(), ID) == ()


def test_silent_about_a_slow_launch() -> None:
    assert findings(training(work_us=2_900).workspace(), ID) == ()


def test_silent_where_the_device_is_busy_meanwhile() -> None:
    assert findings(training(kernel_us=20_000).workspace(), ID) == ()


def test_silent_where_the_time_is_the_recording_s() -> None:
    """2,000 events in 10,000: what recording them takes leaves less than a stretch."""
    line = Timeline()
    for _ in range(3):
        with line.step():
            line.kernel(1_000)
            for _ in range(2_000):
                with line.op("aten::empty"):
                    line.python(5)
            line.kernel(1_000)
    assert findings(line.workspace(), ID) == ()


@pytest.mark.parametrize(("wait_us", "found"), [(9_000, 0), (5_000, 0), (4_900, 1), (None, 1)])
def test_where_only_the_step_log_tells_of_loading_the_stretch_is_that(wait_us: float | None, found: int) -> None:
    wait_ns = None if wait_us is None else round(wait_us * US)
    rows = [
        {"rank": 0, "step": n, "start_ns": n, "dur_ns": STEP_US * US, "input_wait_ns": wait_ns, "phase": "baseline"}
        for n in range(3)
    ]
    assert len(findings(training().workspace(step_log=table("step_log", *rows)), ID)) == found


def test_waiting_for_an_exchange_over_the_host_is_no_work_of_its_own() -> None:
    line = training()
    step_ns = round(line.now / 4 * US)
    ends = [{"start_ns": step * step_ns, "dur_ns": 9_000 * US, "blocked_ns": 0} for step in range(4)]
    # it ends within the stretch, though the device was busy meanwhile
    assert findings(line.workspace(collective_calls=frame(CALLS, *ends)), ID) == ()
    during = [{"start_ns": step * step_ns, "dur_ns": step_ns, "blocked_ns": 0} for step in range(4)]
    assert findings(line.workspace(collective_calls=frame(CALLS, *during)), ID) == ()
    on_device = [call | {"stream": 20} for call in during]
    assert one(line.workspace(collective_calls=frame(CALLS, *on_device)), ID)
