from __future__ import annotations

from analyze.analyses.gpu_busy import gpu_busy
from tests.builders import copy, step_times, table, timed, work

STEPS = step_times(timed(0, 0, 100), timed(1, 100, 200))


def test_busy_is_a_union_and_the_sum_is_not():
    """10 to 60 and 40 to 80 on two streams: 70 busy, 90 summed."""
    kernels = table("kernels", work(10, 60), work(40, 80, stream=20))
    found = gpu_busy(kernels, STEPS)
    assert found.rows() == [(0, 0, 100, 70, 70, 90), (1, 0, 100, 0, 0, 0)]


def test_work_over_a_boundary_is_split_by_when_it_ran():
    found = gpu_busy(table("kernels", work(80, 130)), STEPS)
    assert found["busy_ns"].to_list() == [20, 30]
    # the sum counts a kernel where it began
    assert found["kernel_sum_ns"].to_list() == [50, 0]


def test_collectives_are_busy_but_count_apart():
    """Compute from 0 to 40, a collective from 30 to 70, a copy from 60 to 80."""
    kernels = table("kernels", work(0, 40), work(30, 70, "ncclDevKernel_AllReduce", kind="collective", stream=20))
    found = gpu_busy(kernels, STEPS, table("copies", copy(60, 80))).row(0, named=True)
    assert (found["busy_ns"], found["busy_without_collectives_ns"]) == (80, 60)


def test_devices_are_counted_apart():
    kernels = table("kernels", work(0, 40), work(0, 90, device=1))
    assert gpu_busy(kernels, STEPS).select("step", "device", "busy_ns").rows() == [(0, 0, 40), (1, 0, 0), (0, 1, 90), (1, 1, 0)]


def test_a_device_without_a_number_is_a_device():
    assert gpu_busy(table("kernels", work(0, 40, device=None)), STEPS)["busy_ns"].to_list() == [40, 0]


def test_unprofiled_steps_have_no_windows():
    steps = step_times(timed(0, 0, 100), timed(7, 500, 600, profiled=False, cycle=None))
    assert gpu_busy(table("kernels", work(0, 40)), steps)["step"].to_list() == [0]
