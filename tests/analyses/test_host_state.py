"""Sums of host telemetry over the steps of a run."""

from __future__ import annotations

import pytest

from analyze.analyses.host_state import COLUMNS, host_state
from tests.telemetry import phases, samples

BASELINE = phases(("settling", 0, 2), ("baseline", 2, 8))


def _state(*each: dict[str, float]) -> dict[str, object]:
    frame = host_state(samples("psutil", *each), BASELINE)
    assert frame.schema == {column.name: column.dtype for column in COLUMNS}
    return frame.row(0, named=True)


def test_means_leave_out_the_warm_up() -> None:
    state = _state(*[{"cpu_percent": 100.0}] * 2, *[{"cpu_percent": 40.0}] * 7)
    assert (state["samples"], state["cpu_percent"]) == (7, 40.0)


def test_a_counter_becomes_a_rate() -> None:
    state = _state(*[{"disk_read_bytes": 1000.0 * at} for at in range(9)])
    assert state["disk_read_bytes_per_s"] == 1000.0


def test_what_is_read_between_two_stretches_of_steps_is_left_out() -> None:
    log = phases(("baseline", 0, 3), ("baseline", 9, 12))
    counts = [0, 10, 20, 30, *[30 + 10_000 * more for more in range(1, 6)], 50_040, 50_050, 50_060, 50_070]
    frame = host_state(samples("psutil", *[{"disk_read_bytes": float(count)} for count in counts]), log)
    # 0..3 s and 9..12 s: six seconds beside each other, ten bytes in each
    assert frame["disk_read_bytes_per_s"].to_list() == [10.0]


def test_cores_are_counted() -> None:
    assert _state(*[{"cpu_percent_per_core.0": 1.0, "cpu_percent_per_core.1": 2.0}] * 9)["core_count"] == 2


def test_memory_is_the_tightest_moment() -> None:
    state = _state(
        *[{"memory_used_bytes": 60.0, "memory_available_bytes": 40.0, "swap_used_bytes": 5.0}] * 5,
        *[{"memory_used_bytes": 90.0, "memory_available_bytes": 10.0, "swap_used_bytes": 25.0}] * 4,
    )
    assert (state["memory_available_bytes"], state["memory_total_bytes"], state["swap_growth_bytes"]) == (10, 100, 20)


def test_a_process_without_children_is_known_alone() -> None:
    state = _state(*[{"process_rss_bytes": 7.0, "process_cpu_percent": 50.0}] * 9)
    assert (state["process_rss_bytes"], state["process_children_cpu_percent"]) == (7, None)


@pytest.mark.parametrize("name", ["cpu_percent", "memory_available_bytes", "disk_read_bytes_per_s", "core_count"])
def test_what_was_not_sampled_is_unknown_not_zero(name: str) -> None:
    assert _state(*[{"process_cpu_percent": 1.0}] * 9)[name] is None
