from __future__ import annotations

import pytest

from analyze.analyses.launch_delay import launch_delay
from analyze.analyses.launch_stats import launch_stats
from analyze.errors import MissingData
from tests.builders import copy, launch, table, work


def test_delay_is_from_the_end_of_the_call_and_never_negative():
    launched = table("launches", launch(0, 5, id=1), launch(10, 30, id=2))
    kernels = table("kernels", work(12, 22, launch_id=1), work(25, 35, launch_id=2))
    found = launch_delay(launched, kernels)
    assert found.select("launch_id", "call_ns", "work_ns", "delay_ns").rows() == [(1, 5, 10, 7), (2, 20, 10, 0)]


def test_a_graph_launch_is_one_row_with_all_its_work():
    launched = table("launches", launch(0, 12, "cudaGraphLaunch", id=9, work_count=3))
    kernels = table("kernels", *(work(start, start + 5, launch_id=9) for start in (20, 30, 40)))
    assert launch_delay(launched, kernels).select("call_ns", "work_count", "work_ns", "delay_ns").rows() == [(12, 3, 15, 8)]


@pytest.mark.parametrize(
    "name", ["cuLaunchKernelEx", "cudaLaunchCooperativeKernel", "hipExtModuleLaunchKernel", "cudaMemcpyAsync"]
)
def test_every_interface_that_starts_work_counts(name):
    launched = table("launches", launch(0, 5, name, id=1))
    assert launch_delay(launched, table("kernels", work(9, 10, launch_id=1)))["name"].to_list() == [name]


def test_calls_that_start_nothing_are_left_out_and_copies_count():
    launched = table("launches", launch(0, 5, "cudaMalloc", id=1, work_count=0), launch(6, 8, "cudaMemcpyAsync", id=2))
    found = launch_delay(launched, table("kernels"), table("copies", copy(9, 30, launch_id=2)))
    assert found["launch_id"].to_list() == [2]


def test_work_without_launches_is_missing_data():
    with pytest.raises(MissingData, match="traced back"):
        launch_delay(table("launches", launch(0, 5)), table("kernels", work(9, 10)))


def test_the_profiler_s_inflated_call_is_kept_out_of_the_statistics():
    """Nine calls of 5 and one of 2000 that covers a buffer request: the mean stays 5."""
    rows = [launch(turn * 10, turn * 10 + 5, id=turn) for turn in range(9)]
    launched = table("launches", *rows, launch(100, 2100, id=9, profiler_overhead=True))
    kernels = table("kernels", *(work(3000 + turn, 3001 + turn, launch_id=turn) for turn in range(10)))
    found = launch_stats(launch_delay(launched, kernels))
    assert found.select("count", "mean_ns", "max_ns", "profiler_overhead_count", "profiler_overhead_ns").rows() == [
        (9, 5.0, 5, 1, 2000)
    ]


def test_kernels_shorter_than_their_launch_are_counted():
    launched = table("launches", launch(0, 10, id=1), launch(20, 30, id=2))
    kernels = table("kernels", work(40, 45, launch_id=1), work(50, 80, launch_id=2))
    found = launch_stats(launch_delay(launched, kernels))
    assert found.select("shorter_count", "work_count", "work_ns", "p50_delay_ns").rows() == [(1, 2, 35, 25.0)]
