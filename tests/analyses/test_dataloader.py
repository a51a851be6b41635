from __future__ import annotations

import pytest

from analyze.analyses.dataloader import dataloader
from analyze.analyses.input_wait import COLUMNS as INPUT_WAIT
from analyze.errors import MissingData
from tests.builders import copy, frame, span, step_times, table, timed


def waits(*rows):
    return frame(INPUT_WAIT, *rows)


def test_waits_of_the_trace_count_steps_that_did_not_wait():
    """Steps of 100: waits of 30 + 10 in the first, none in the second: mean 20, a fifth of the time."""
    steps = step_times(timed(1, 0, 100), timed(2, 100, 200))
    found = dataloader(steps, waits(span(0, 30, step=1, loads_itself=True), span(40, 50, step=1, loads_itself=True)))
    assert found.select("source", "waits", "mean_ns", "max_ns", "step_fraction", "loads_itself").rows() == [
        ("trace", 2, 20.0, 40, 0.2, True)
    ]


def test_unprofiled_steps_have_their_own_row_from_the_step_log():
    steps = step_times(timed(7, 0, 50, profiled=False, input_wait_ns=10), timed(8, 50, 100, profiled=False, input_wait_ns=30))
    found = dataloader(steps, manifest={"workers": 4})
    assert found.select("source", "mean_ns", "p50_ns", "step_fraction", "workers", "loads_itself").rows() == [
        ("step log", 20.0, 20.0, 0.4, 4, False)
    ]


def test_bytes_moved_to_the_device_per_profiled_step():
    steps = step_times(timed(1, 0, 100), timed(2, 100, 200))
    copies = table(
        "copies",
        copy(0, 10, bytes=1_000, step=1),
        copy(0, 10, bytes=3_000, step=2),
        copy(0, 10, bytes=9_000),
        copy(0, 10, bytes=500, step=2, direction="device-to-host"),
    )
    assert dataloader(steps, waits(span(0, 30, step=1)), copies)["bytes_per_step"].to_list() == [2_000.0]


def test_a_trace_without_steps_still_has_its_waits():
    found = dataloader(None, waits(span(0, 30), span(50, 60)))
    assert found.select("waits", "mean_ns", "step_fraction", "loads_itself").rows() == [(2, 20.0, None, None)]


def test_no_wait_recorded_is_not_a_wait_of_zero():
    with pytest.raises(MissingData, match="waited for input"):
        dataloader(step_times(timed(1, 0, 100), timed(9, 0, 50, profiled=False)))
