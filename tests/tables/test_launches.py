from __future__ import annotations

import polars as pl
import pytest

from analyze.errors import MissingData
from analyze.tables.launches import launches
from tests.builders import family, kernel, memcpy, on_thread, span, step, table


def found(calls, work=(), ops=(), overhead=(), steps=None):
    return launches(
        family("runtime_events", *calls),
        family("device_events", *work),
        family("op_events", *ops),
        family("overhead_events", *overhead),
        steps,
    )


def test_a_graph_launch_starts_all_kernels_of_its_correlation_and_costs_once():
    table_ = found(
        [on_thread(0, 12, "cudaGraphLaunch", correlation=9)],
        [kernel(20, 30, correlation=9), kernel(30, 40, correlation=9), kernel(40, 50, correlation=9)],
    )
    assert table_.select("work_count", "dur_ns").rows() == [(3, 12)]


@pytest.mark.parametrize(
    "name",
    [
        "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaLaunchCooperativeKernel",
        "hipLaunchKernel", "hipExtModuleLaunchKernel", "a_call_nobody_has_heard_of",
    ],
)  # fmt: skip
def test_work_is_linked_by_correlation_whatever_the_call_is_named(name):
    assert found([on_thread(0, 5, name, correlation=3)], [kernel(9, 12, correlation=3)])["work_count"].to_list() == [1]


def test_calls_without_correlation_start_nothing():
    assert found([on_thread(0, 5, "cudaLaunchKernel")], [kernel(9, 12)])["work_count"].to_list() == [0]


def test_a_correlation_on_two_calls_is_ambiguous_and_links_neither():
    calls = [
        on_thread(0, 5, "cudaLaunchKernel", correlation=42),
        on_thread(6, 9, "cudaLaunchKernel", correlation=42, process="2"),
    ]
    assert found(calls, [kernel(10, 12, correlation=42), kernel(10, 12, correlation=42, device=1)])["work_count"].to_list() == [
        0,
        0,
    ]


def test_the_step_is_the_one_in_which_the_call_began():
    calls = [
        on_thread(90, 110, "cudaLaunchKernel"),
        on_thread(100, 105, "cudaLaunchKernel"),
        on_thread(300, 301, "cudaLaunchKernel"),
    ]
    table_ = found(calls, steps=table("steps", step(1, 0, 100), step(2, 100, 200)))
    assert table_["step"].to_list() == [1, 2, None]


def test_the_operator_is_the_innermost_one_of_the_same_thread():
    ops = [
        on_thread(0, 100, "aten::linear", id=50),
        on_thread(10, 40, "aten::addmm", id=51),
        on_thread(0, 100, "aten::other", id=52, thread="2"),
    ]
    calls = [
        on_thread(20, 25, "cudaLaunchKernel"),
        on_thread(50, 55, "cudaLaunchKernel"),
        on_thread(150, 155, "cudaLaunchKernel"),
    ]
    assert found(calls, ops=ops)["op_id"].to_list() == [51, 50, None]


def test_profiler_s_own_buffer_handling_is_marked_on_the_call_it_inflates():
    calls = [
        on_thread(0, 5, "cudaLaunchKernel"),
        on_thread(10, 2010, "cudaLaunchKernel"),
        on_thread(2010, 2015, "cudaLaunchKernel"),
    ]
    overhead = [span(12, 2000, "Activity Buffer Request")]
    assert found(calls, overhead=overhead)["profiler_overhead"].to_list() == [False, True, False]


@pytest.mark.parametrize(
    ("name", "waits_for"),
    [
        ("cudaDeviceSynchronize", "device"), ("cuCtxSynchronize", "device"), ("hipDeviceSynchronize", "device"),
        ("cudaStreamSynchronize", "stream"), ("cudaEventSynchronize", "event"), ("cudaFree", "free"), ("cudaFreeHost", "free"),
        ("cudaMalloc", "allocation"), ("cudaHostAlloc", "allocation"), ("cudaMemcpy", "copy"), ("hipMemcpyWithStream", "copy"),
        ("cudaMemcpyAsync", "none"), ("cudaFreeAsync", "none"), ("cudaEventQuery", "none"), ("cudaStreamIsCapturing", "none"),
        ("cudaLaunchKernel", "none"), ("cudaFuncGetAttributes", "none"),
    ],
)  # fmt: skip
def test_what_a_call_waits_for_by_name(name, waits_for):
    assert found([on_thread(0, 5, name)])["blocking"].cast(pl.String).to_list() == [waits_for]


def test_an_asynchronous_copy_of_pageable_memory_waits_for_its_copy():
    calls = [on_thread(0, 50, "cudaMemcpyAsync", correlation=1), on_thread(60, 65, "cudaMemcpyAsync", correlation=2)]
    work = [memcpy(5, 45, correlation=1), memcpy(70, 90, "Memcpy HtoD (Pinned -> Device)", correlation=2)]
    assert found(calls, work)["blocking"].cast(pl.String).to_list() == ["copy", "none"]


def test_a_call_that_never_ended_is_left_out_and_no_calls_are_missing_data():
    assert found([on_thread(0, 5, "cudaMalloc"), on_thread(9, 9, "cudaFree") | {"dur_ns": None}]).height == 1
    with pytest.raises(MissingData, match="no device runtime calls"):
        found([])
