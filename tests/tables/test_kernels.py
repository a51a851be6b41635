from __future__ import annotations

import polars as pl
import pytest

from analyze.errors import MissingData
from analyze.intervals import busy_ns
from analyze.tables.kernels import kernels
from tests.builders import family, kernel, launch, memcpy, span, table


def test_annotations_copies_and_synchronisation_never_become_kernels():
    """Only kernels and memsets are in the table: a span of 1,000 projected on the device adds nothing to 150 busy."""
    work = [kernel(100, 200), kernel(300, 350), memcpy(400, 500)]
    table_ = kernels(family("device_events", *work))
    assert busy_ns(table_, ["device"]).rows() == [(0, 150)]


def test_overlapping_kernels_of_one_stream_are_both_kept():
    table_ = kernels(family("device_events", kernel(0, 50, "a"), kernel(42, 90, "b")))
    assert table_.height == 2
    assert busy_ns(table_, ["device", "stream"])["busy_ns"].to_list() == [90]


def test_a_kernel_belongs_to_the_step_that_launched_it_even_when_it_runs_later():
    """Step 1 is [0, 100): the launch at 90 belongs to it, its kernel runs at 120, in step 2's time."""
    launched = table("launches", launch(90, 95, id=5, correlation=1, step=1, op_id=8))
    table_ = kernels(family("device_events", kernel(120, 180, correlation=1)), launched)
    assert table_.select("step", "launch_id", "op_id").rows() == [(1, 5, 8)]


def test_kernels_of_one_graph_launch_share_it():
    launched = table("launches", launch(0, 12, "cudaGraphLaunch", id=7, correlation=9, work_count=3, step=1))
    work = [kernel(start, start + 5, correlation=9) for start in (20, 30, 40)]
    assert kernels(family("device_events", *work), launched)["launch_id"].to_list() == [7, 7, 7]


@pytest.mark.parametrize("correlation", [None, 77])
def test_without_a_matching_launch_a_kernel_stays_without_step(correlation):
    launched = table("launches", launch(0, 12, id=7, correlation=9, step=1), launch(20, 22, id=8, step=1))
    table_ = kernels(family("device_events", kernel(20, 30, correlation=correlation)), launched)
    assert table_.select("launch_id", "step", "op_id").rows() == [(None, None, None)]


def test_colliding_correlations_of_a_merged_file_link_nothing():
    """Two processes use correlation 42: launches marks both as starting nothing, and no kernel is linked."""
    launched = table(
        "launches", launch(0, 5, correlation=42, work_count=0), launch(0, 5, correlation=42, work_count=0, process="2")
    )
    work = [kernel(10, 20, correlation=42), kernel(10, 20, correlation=42, device=1)]
    assert kernels(family("device_events", *work), launched)["launch_id"].to_list() == [None, None]


def test_memsets_are_a_kind_of_their_own_whatever_their_name():
    work = span(0, 5, "Memset (Device)", kind="memset", device=0, stream=7)
    assert kernels(family("device_events", work))["kind"].cast(pl.String).to_list() == ["memset"]


def test_launches_without_kernels_say_that_the_device_side_is_missing():
    launched = table("launches", launch(0, 5), launch(10, 15))
    with pytest.raises(MissingData, match="device side is missing"):
        kernels(family("device_events"), launched)


def test_no_launches_and_no_kernels_is_a_run_without_a_device():
    with pytest.raises(MissingData, match="no device work"):
        kernels(family("device_events"), table("launches", launch(0, 5, "cudaGetDeviceCount")))
