from __future__ import annotations

import pytest

from analyze.analyses.collective_calls import COLUMNS as CALLS
from analyze.analyses.gpu_gaps import CAUSES, gpu_gaps
from analyze.analyses.input_wait import COLUMNS
from tests.builders import copy, frame, launch, operator, span, step_times, table, timed, work

STEPS = step_times(timed(0, 0, 100), timed(1, 100, 200))


def waits(*spans):
    return frame(COLUMNS, *(span(start, end) for start, end in spans))


def of(*arguments, **named):
    return gpu_gaps(*arguments, **named).select("step", "start_ns", "dur_ns", "cause").rows()


def test_idle_is_what_no_stream_and_no_copy_covers():
    kernels = table("kernels", work(10, 40), work(30, 60, stream=20))
    assert of(kernels, STEPS, table("copies", copy(60, 90))) == [
        (0, 0, 10, "other"),
        (0, 90, 10, "other"),
        (1, 100, 100, "other"),
    ]


def test_a_gap_over_a_boundary_is_two():
    assert of(table("kernels", work(0, 80), work(120, 200)), STEPS) == [(0, 80, 20, "other"), (1, 100, 20, "other")]


@pytest.mark.parametrize(
    ("blocking", "cause"),
    [
        ("copy", "blocking_copy"),
        ("device", "synchronisation"),
        ("stream", "synchronisation"),
        ("event", "synchronisation"),
        ("allocation", "allocation"),
        ("free", "allocation"),
        ("none", "launch"),
    ],
)
def test_a_gap_is_named_for_the_call_that_covers_most_of_it(blocking, cause):
    launched = table("launches", launch(20, 90, blocking=blocking))
    kernels = table("kernels", work(0, 10), work(100, 200))
    assert of(kernels, STEPS, None, launched) == [(0, 10, 90, cause)]


def test_an_instant_has_one_cause_the_first_of_the_list():
    """Loading from 10 to 50, a wait from 40 to 60, an operator from 0 to 80, nothing until 90."""
    launched = table("launches", launch(40, 60, blocking="stream"))
    ops = table("cpu_ops", operator(0, 80, "aten::mm"))
    kernels = table("kernels", work(90, 200))
    found = gpu_gaps(kernels, STEPS, None, launched, ops, waits((10, 50))).row(0, named=True)
    assert [found[f"{cause}_ns"] for cause in CAUSES] == [40, 0, 10, 0, 30, 0, 10]
    assert sum(found[f"{cause}_ns"] for cause in CAUSES) == found["dur_ns"] == 90
    assert found["cause"] == "input_wait"


def test_only_threads_that_launch_count_as_launching():
    launched = table("launches", launch(1, 2))
    ops = table("cpu_ops", operator(10, 90, "aten::stack", thread="9"))
    assert of(table("kernels", work(0, 5), work(90, 200)), STEPS, None, launched, ops) == [(0, 5, 85, "other")]


def test_nested_operators_count_once():
    ops = table("cpu_ops", operator(10, 60, "aten::linear"), operator(20, 50, "aten::mm", depth=1))
    found = gpu_gaps(table("kernels", work(0, 5), work(90, 200)), STEPS, None, table("launches", launch(1, 2)), ops)
    assert found.select("launch_ns", "other_ns").rows() == [(50, 35)]


def test_a_busy_device_has_no_gaps():
    assert of(table("kernels", work(0, 200)), STEPS) == []


def test_without_profiled_steps_there_are_none():
    assert of(table("kernels", work(0, 10)), step_times()) == []


def test_what_ranks_exchange_over_the_host_is_told_from_other_waiting():
    """Kernels until 20, an operator until 40, an exchange that holds everything up from 30 to 80, nothing until 90."""
    calls = frame(CALLS, span(10, 80, blocked_ns=50), span(10, 90, blocked_ns=70, stream=20))
    ops = table("cpu_ops", operator(0, 40, "aten::mm"))
    kernels = table("kernels", work(0, 20), work(90, 200))
    launched = table("launches", launch(0, 1))
    found = gpu_gaps(kernels, STEPS, None, launched, ops, None, calls).row(0, named=True)
    # a collective on a device is work of the device, and stands among the kernels
    assert (found["launch_ns"], found["exchange_ns"], found["other_ns"], found["cause"]) == (20, 40, 10, "exchange")
