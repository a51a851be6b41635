from __future__ import annotations

import pytest

from analyze.analyses.sm_fill import sm_fill
from analyze.errors import MissingData
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import table, work

TEN_SMS = TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0, multiprocessors=10),))


def test_a_kernel_of_one_block_keeps_the_device_busy_but_empty():
    found = sm_fill(table("kernels", work(0, 1000, blocks=1, threads_per_block=1)), TEN_SMS)
    assert found.select("fill_fraction", "underfilled_ns", "total_ns").rows() == [(0.1, 1000, 1000)]


def test_fill_and_occupancy_are_weighted_by_time():
    """300 ns at 5 of 10 blocks, 100 ns full: (300 x 0.5 + 100) / 400; occupancy (300 x 20 + 100 x 60) / 400."""
    kernels = table(
        "kernels",
        work(0, 300, "a", blocks=5, threads_per_block=256, occupancy_percent=20.0),
        work(300, 400, "a", blocks=40, threads_per_block=256, occupancy_percent=60.0),
    )
    found = sm_fill(kernels, TEN_SMS)
    assert found.select("fill_fraction", "occupancy_percent", "underfilled_ns").rows() == [(0.625, 30.0, 300)]


def test_blocks_per_multiprocessor_stand_in_for_a_device_the_header_does_not_describe():
    kernels = table("kernels", work(0, 100, blocks=5, blocks_per_sm=0.25, device=3))
    assert sm_fill(kernels, TEN_SMS)["fill_fraction"].to_list() == [0.25]


def test_kernels_without_a_grid_are_left_out_and_alone_are_missing_data():
    assert sm_fill(table("kernels", work(0, 100), work(0, 100, blocks=20)), TEN_SMS)["count"].to_list() == [1]
    with pytest.raises(MissingData, match="blocks"):
        sm_fill(table("kernels", work(0, 100)), TEN_SMS)
