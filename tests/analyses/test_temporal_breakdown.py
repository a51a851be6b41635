from __future__ import annotations

from analyze.analyses.temporal_breakdown import temporal_breakdown
from tests.builders import copy, step_times, table, timed, work

PARTS = ("span_ns", "compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns")


def nccl(start, end, **more):
    return work(start, end, "ncclDevKernel_AllReduce", kind="collective", **({"stream": 20} | more))


def test_exclusive_parts_add_up_to_the_recording():
    """Compute [0,100), collective [50,200), copy [150,260): 100 compute, 100 more of the collective, 60 more of the copy."""
    found = temporal_breakdown(table("kernels", work(0, 100), nccl(50, 200)), table("copies", copy(150, 260, stream=9)))
    assert found.select(PARTS).rows() == [(260, 100, 100, 60, 0)]
    assert found.select("communication_ns", "copy_ns").rows() == [(150, 110)]


def test_streams_are_united_not_added():
    kernels = table("kernels", work(0, 100), work(150, 250), work(50, 200, stream=20))
    assert temporal_breakdown(kernels).select("span_ns", "compute_ns", "idle_ns").rows() == [(250, 250, 0)]


def test_a_gap_between_collective_and_kernel_is_idle():
    """No synchronisation record takes part: collective [0,500), gemm [600,700) leave 100 of 700."""
    found = temporal_breakdown(table("kernels", nccl(0, 500), work(600, 700, kind="gemm")))
    assert found.select(PARTS).rows() == [(700, 100, 500, 0, 100)]


def test_lead_in_and_tail_of_a_step_are_idle_too():
    """Step 5 is [0,300): idle before 100 and after 250."""
    found = temporal_breakdown(table("kernels", work(100, 250)), step_time=step_times(timed(5, 0, 300)))
    assert found.select("step", "span_ns", "compute_ns", "idle_ns").rows() == [(5, 300, 150, 150), (None, 150, 150, 0)]


def test_work_over_a_step_boundary_counts_where_it_runs():
    steps = step_times(timed(1, 0, 100), timed(2, 100, 200))
    found = temporal_breakdown(table("kernels", work(80, 130)), step_time=steps)
    assert found.select("step", "compute_ns").rows() == [(1, 20), (2, 30), (None, 50)]


def test_devices_are_apart():
    found = temporal_breakdown(table("kernels", work(0, 100), work(50, 200, device=1)))
    assert found.select("device", "span_ns", "compute_ns", "idle_ns").rows() == [(0, 100, 100, 0), (1, 150, 150, 0)]


def test_unprofiled_steps_have_no_breakdown():
    steps = step_times(timed(1, 0, 100, profiled=False), timed(2, 100, 200))
    assert temporal_breakdown(table("kernels", work(100, 150)), step_time=steps)["step"].to_list() == [2, None]


def test_a_tenth_of_exposed_communication_reads_as_a_tenth():
    found = temporal_breakdown(table("kernels", work(0, 900), nccl(900, 1000)))
    assert found["exposed_communication_ns"][0] / found["span_ns"][0] == 0.1
