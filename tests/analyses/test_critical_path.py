from __future__ import annotations

import pytest

from analyze.analyses.critical_path import critical_path
from analyze.analyses.critical_path_breakdown import critical_path_breakdown
from analyze.analyses.input_wait import COLUMNS as INPUT_WAIT
from analyze.analyses.step_time import step_time
from analyze.replay import replay
from tests.builders import copy, family, frame, launch, span, step, table, work

US = 1_000


def replayed(end_us, launches, kernels, copies=None):
    """The window [0, end) as one step, replayed at recorded speed."""
    steps = table("steps", step(1, 0, end_us * US))
    families = ("op_events", "runtime_events", "memory_events", "annotation_events", "python_events")
    measured = step_time(steps, kernels, copies, launches)
    empty = {name: family(name) for name in families}
    return replay(steps, measured, launches=launches, kernels=kernels, copies=copies, **empty)


def path(end_us, launches, kernels, copies=None, **more):
    """Kind and length in us of each segment, and the breakdown."""
    engine = replayed(end_us, launches, kernels, copies)
    found = critical_path(engine, launches, kernels, copies, **more)
    assert found["dur_ns"].sum() == pytest.approx(engine.played.pass_end - engine.played.pass_begin, abs=2)
    assert (found["start_ns"].diff().drop_nulls() == found["dur_ns"][:-1]).all(), "segments adjoin"
    return [(kind, round(ns / US)) for kind, ns in found.select("kind", "dur_ns").rows()], critical_path_breakdown(found, engine)


def test_where_the_host_is_slower_the_path_runs_on_the_host():
    """Launches of 10 us every 100 us, kernels of 20 us: the device never holds anything up."""
    launches = table("launches", *(launch(t * US, (t + 10) * US, id=t) for t in (90, 190, 290)))
    kernels = table("kernels", *(work((t + 15) * US, (t + 35) * US, launch_id=t, id=1000 + t) for t in (90, 190, 290)))
    segments, breakdown = path(400, launches, kernels)
    assert segments == [("host", 90), ("launch", 10)] * 3 + [("host", 100)]
    assert dict(breakdown.select("kind", "ns").rows()) == {"host": 370 * US, "launch": 30 * US}


def test_where_the_device_is_slower_the_path_runs_on_the_device():
    """Three launches at once, kernels of 100 us back to back: the host is done at 30, the device at 310."""
    launches = table("launches", *(launch(t * US, (t + 10) * US, id=t) for t in (0, 10, 20)))
    kernels = table("kernels", *(work((10 + 100 * n) * US, (110 + 100 * n) * US, launch_id=10 * n, id=n) for n in range(3)))
    segments, breakdown = path(30, launches, kernels)
    assert [kind for kind, _ in segments if kind != "device_spacing"] == ["compute"] * 3
    assert breakdown.filter(breakdown["kind"] == "compute")["ns"].to_list() == [300 * US]


def test_a_synchronising_call_sends_the_path_from_the_host_to_the_work_it_waited_for():
    """The kernel [20,120) of the launch at 10 is awaited by a call [20,125); the host goes on until 200."""
    launches = table(
        "launches",
        launch(10 * US, 20 * US, id=1),
        launch(20 * US, 125 * US, "cudaStreamSynchronize", id=2, work_count=0, blocking="stream"),
    )
    segments, _ = path(200, launches, table("kernels", work(20 * US, 120 * US, launch_id=1, id=5)))
    assert segments == [("host", 10), ("launch_latency", 10), ("compute", 100), ("synchronisation", 5), ("host", 75)]


def test_copies_and_collectives_have_their_own_kinds():
    launches = table("launches", launch(0, 5 * US, "cudaMemcpyAsync", id=1), launch(5 * US, 10 * US, id=2))
    kernels = table("kernels", work(110 * US, 310 * US, "ncclDevKernel_AllReduce", kind="collective", launch_id=2, id=8))
    copies = table("copies", copy(10 * US, 110 * US, launch_id=1, id=7, host_memory="pinned"))
    segments, _ = path(10, launches, kernels, copies)
    assert [each for each in segments if each[1] >= 100] == [("copy", 100), ("communication", 200)]


def test_host_time_in_which_the_loop_waited_for_input_is_told_apart():
    launches = table("launches", launch(100 * US, 110 * US, id=1))
    kernels = table("kernels", work(115 * US, 120 * US, launch_id=1, id=5))
    waits = frame(INPUT_WAIT, span(20 * US, 80 * US, id=3, step=1))
    segments, _ = path(200, launches, kernels, input_wait=waits)
    assert segments == [("input_wait", 60), ("host", 40), ("launch", 10), ("host", 90)]


def test_host_time_before_another_thread_s_call_is_a_hand_over():
    launches = table("launches", launch(0, 10 * US, id=1), launch(60 * US, 70 * US, id=2, thread="2"))
    kernels = table("kernels", work(12 * US, 14 * US, launch_id=1, id=5), work(72 * US, 74 * US, launch_id=2, id=6))
    segments, _ = path(100, launches, kernels)
    assert segments == [("launch", 10), ("other_thread", 50), ("launch", 10), ("host", 30)]


def test_allocations_stand_apart_from_launches():
    launches = table(
        "launches",
        launch(0, 40 * US, "cudaMalloc", id=1, work_count=0, blocking="allocation"),
        launch(40 * US, 50 * US, id=2),
    )
    segments, _ = path(100, launches, table("kernels", work(55 * US, 60 * US, launch_id=2, id=5)))
    assert segments == [("allocation", 40), ("launch", 10), ("host", 50)]
