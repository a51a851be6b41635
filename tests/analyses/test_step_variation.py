from __future__ import annotations

import pytest

from analyze.analyses.gpu_busy import COLUMNS as GPU_BUSY
from analyze.analyses.input_wait import COLUMNS as INPUT_WAIT
from analyze.analyses.step_variation import step_variation
from analyze.errors import MissingData
from tests.builders import frame, launch, span, step_times, table, timed

FIVE = step_times(*(timed(n, 1000 * n, 1000 * n + length) for n, length in enumerate((100, 102, 98, 100, 200))))


def test_an_outlier_stands_out_from_the_median():
    found = step_variation(FIVE)
    assert found.select("step", "above_median_ns", "outlier", "differs_in").rows() == [
        (0, 0.0, False, None),
        (1, 2.0, False, None),
        (2, -2.0, False, None),
        (3, 0.0, False, None),
        (4, 100.0, True, "other"),
    ]


def test_even_runs_have_no_outliers_however_small_their_deviation():
    steps = step_times(*(timed(n, 1000 * n, 1000 * n + length) for n, length in enumerate((100, 100, 100, 100, 105))))
    assert not step_variation(steps)["outlier"].any()


def test_two_steps_have_no_usual():
    assert not step_variation(step_times(timed(1, 0, 100), timed(2, 100, 900)))["outlier"].any()


def busy(*lengths):
    return frame(GPU_BUSY, *({"step": step, "device": 0, "span_ns": 100, "busy_ns": ns} for step, ns in enumerate(lengths)))


@pytest.mark.parametrize(
    ("cause", "more"),
    [
        ("busy", {"gpu_busy": busy(80, 80, 80, 80, 175)}),
        ("allocation", {"launches": table("launches", launch(4000, 4080, "cudaMalloc", blocking="allocation", step=4), *(launch(n, n + 1, step=n) for n in range(5)))}),
        ("blocked", {"launches": table("launches", launch(4000, 4080, "cudaDeviceSynchronize", blocking="device", step=4), *(launch(n, n + 1, step=n) for n in range(5)))}),
        ("input_wait", {"input_wait": frame(INPUT_WAIT, span(4000, 4090, step=4))}),
    ],
)  # fmt: skip
def test_what_explains_the_outlier(cause, more):
    found = step_variation(FIVE, **more)
    assert found["differs_in"].to_list() == [None] * 4 + [cause]


def test_a_cause_that_explains_little_is_not_named():
    assert step_variation(FIVE, gpu_busy=busy(80, 80, 80, 80, 90))["differs_in"].to_list()[4] == "other"


def test_profiled_and_unprofiled_steps_are_not_compared():
    steps = step_times(*(timed(n, 0, 100) for n in range(4)), *(timed(n, 0, 50, profiled=False) for n in range(4, 8)))
    assert not step_variation(steps)["outlier"].any()


def test_no_steps():
    with pytest.raises(MissingData):
        step_variation(step_times())
