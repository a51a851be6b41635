"""Whether the loader's workers set the pace, on made-up step logs."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.analyses.loader_pace import COLUMNS, loader_pace
from analyze.analyses.step_time import COLUMNS as STEP_COLUMNS
from analyze.errors import MissingData


def steps(waits_ms: list[float | None], rest_ms: float = 20.0) -> pl.DataFrame:
    rows = [
        {
            "step": number,
            "step_ns": round((rest_ms + (wait or 0)) * 1e6),
            "input_wait_ns": None if wait is None else round(wait * 1e6),
            "profiled": False,
        }
        for number, wait in enumerate(waits_ms)
    ]
    return pl.DataFrame(rows, schema={column.name: column.dtype for column in STEP_COLUMNS})


def pace(waits_ms: list[float | None], workers: int = 4, **more: pl.DataFrame) -> dict:
    (row,) = loader_pace(steps(waits_ms), {"workers": workers}, **more).rows(named=True)
    return row


def test_a_wait_at_every_worker_s_turn_sets_the_pace():
    found = pace([0.1, 0.1, 0.1, 23.7] * 8)
    assert found == {"sets_pace": True, "interval_ns": 26e6, "wait_ns": 6e6, "waiting_stretches": 1.0, "steps": 32}
    assert list(found) == [column.name for column in COLUMNS]


def test_waits_at_the_start_of_an_epoch_do_not():
    found = pace([200.0] + [0.1] * 31 + [200.0] + [0.1] * 31)
    assert found["wait_ns"] > 0.2 * found["interval_ns"]
    assert (found["sets_pace"], found["waiting_stretches"]) == (False, 0.25)


def test_the_queue_may_last_through_one_stretch_in_four():
    assert pace(([0.1] * 7 + [80.0]) * 3 + [0.1] * 8)["sets_pace"]
    assert not pace(([0.1] * 7 + [80.0]) * 2 + [0.1] * 16)["sets_pace"]


def test_the_loader_s_own_overhead_is_no_wait():
    assert not pace([0.9] * 64)["sets_pace"]


def test_a_few_steps_do_not_tell():
    assert not pace([0.1, 0.1, 0.1, 23.7] * 4)["sets_pace"]
    assert not pace([0.1, 0.1, 0.1, 23.7] * 8, workers=8)["sets_pace"]


@pytest.mark.parametrize("manifest", [None, {}, {"workers": None}, {"workers": 0}])
def test_without_workers_a_shorter_step_is_shorter(manifest):
    with pytest.raises(MissingData, match="workers"):
        loader_pace(steps([5.0] * 64), manifest)


def test_the_trace_may_say_that_the_loop_loads_itself():
    waits = pl.DataFrame({"loads_itself": [True]})
    with pytest.raises(MissingData, match="workers"):
        pace([5.0] * 64, input_wait=waits)
    assert pace([5.0] * 64, input_wait=pl.DataFrame({"loads_itself": [False]}))["sets_pace"]


def test_without_a_step_log_nothing_is_known():
    with pytest.raises(MissingData, match="step log"):
        loader_pace(steps([None] * 10), {"workers": 4})
