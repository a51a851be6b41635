from __future__ import annotations

import pytest

from analyze.analyses.collective_calls import COLUMNS as CALLS
from tests.builders import frame, span
from tests.timeline import Timeline

US = 1_000


def parts(line, **sources):
    found = dict(line.workspace(**sources).get("step_parts").rows())
    return {name: round(ns / US) for name, ns in found.items() if round(ns / US)}


def steps(body, count=4):
    line = Timeline()
    for _ in range(count):
        with line.step():
            body(line)
    return line


def test_every_cause_of_idling_has_its_part_and_all_add_up():
    """Loading 300, Python 100, an operator 200 up to its launch, kernel 400, a wait for it that returns 50 late."""

    def body(line):
        line.load(300)
        line.python(100)
        with line.op("aten::mm"):
            line.python(200)
            line.kernel(400)
        line.synchronise(extra=50)

    found = parts(steps(body), baseline_step_ms=1.055)
    assert found == pytest.approx(
        {"compute": 400, "idle_input_wait": 300, "idle_other": 100, "idle_launch": 205, "idle_synchronisation": 50}, abs=6
    )
    assert sum(found.values()) == pytest.approx(1_055, abs=3)


def test_what_other_streams_hide_is_not_exposed():
    """Compute 500; a collective of 800 and a copy of 900 beside it: 300 and 100 stick out."""

    def body(line):
        line.kernel(500)
        line.kernel(800, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=20)
        line.copy(900, 1_000, "HtoD (Pinned -> Device)", stream=30)
        line.synchronise()

    found = parts(steps(body))
    # calls are 4 apart, so the streams start 4 after each other
    assert (found["compute"], found["exposed_communication"], found["exposed_copy"]) == pytest.approx((500, 304, 104), abs=3)


def test_a_blocking_copy_holds_the_host():
    """While the copy runs the device is not idle; the driver's 60 before it ends are."""

    def body(line):
        line.kernel(100)
        line.copy(300, 1_000)
        line.python(200)

    found = parts(steps(body))
    assert found["exposed_copy"] == pytest.approx(300, abs=3)
    assert found["idle_other"] == pytest.approx(200, abs=8)


def test_allocation_is_a_cause_of_its_own():
    def body(line):
        line.kernel(100)
        line.synchronise("cudaFree", extra=70)
        line.call(130, "cudaMalloc")

    assert parts(steps(body))["idle_allocation"] == pytest.approx(200, abs=6)


def test_what_the_replay_cannot_reach_is_unexplained():
    """A step of 3,000 was given; the recording explains 1,000 of it."""

    def body(line):
        line.python(500)
        line.kernel(490)
        line.synchronise()

    found = parts(steps(body), baseline_step_ms=3.0)
    assert found["unexplained"] == pytest.approx(2_005, abs=10)
    assert sum(found.values()) == pytest.approx(3_000, abs=3)


def test_a_faster_step_than_the_recording_shrinks_all_parts():
    def body(line):
        line.python(495)
        line.kernel(500)
        line.synchronise()

    found = parts(steps(body), baseline_step_ms=0.5)
    assert sum(found.values()) == pytest.approx(500, abs=3)
    assert "unexplained" not in found


def test_the_busiest_device_is_the_one_shown():
    def body(line):
        line.kernel(100)
        line.kernel(700, stream=9, device=1)
        line.synchronise()

    found = parts(steps(body))
    assert found["compute"] == pytest.approx(700, abs=3)


def test_idle_time_behind_an_exchange_over_the_host_is_exposed_communication():
    """Kernel until 405, an exchange until 1,000: 100 of it hidden behind the host's own work at the end."""

    def body(line):
        line.kernel(400)
        line.synchronise()
        line.python(495)
        with line.op("aten::add_"):
            line.python(100)

    line = steps(body)
    step_ns = line.now / 4 * US
    calls = [span(round(number * step_ns), round((number + 1) * step_ns), blocked_ns=590 * US) for number in range(4)]
    found = parts(line, collective_calls=frame(CALLS, *calls))
    assert found["exposed_communication"] == pytest.approx(490, abs=8)
    assert found["compute"] == pytest.approx(400, abs=3)
    assert "idle_exchange" not in found
    assert parts(line).get("exposed_communication") is None
