"""A step is what the rank did itself, by part, and what collectives blocked."""

from __future__ import annotations

from analyze.analyses.collective_calls import COLUMNS as CALLS
from analyze.analyses.input_wait import COLUMNS as WAITS
from analyze.analyses.own_time import own_time
from tests.builders import copy, frame, on_thread, operator, span, step_times, table, timed, work

PARTS = ("own_ns", "blocked_ns", "compute_ns", "copy_ns", "input_wait_ns", "gc_ns", "host_ns", "kernel_count")
STEP = step_times(timed(3, 0, 1_000))


def _blocked(start, end, blocked):
    return frame(CALLS, span(start, end, step=3, blocked_ns=blocked))


def test_parts_add_up_to_the_step():
    found = own_time(
        STEP,
        collective_calls=_blocked(700, 900, 150),
        kernels=table("kernels", work(100, 400, step=3), work(350, 500, step=3, stream=8), work(700, 900, kind="collective")),
        copies=table("copies", copy(480, 600)),
        input_wait=frame(WAITS, span(0, 120)),
        annotations=table("annotations", on_thread(620, 660, "gc.collect", on_device=False)),
    )
    assert found.select(PARTS).row(0) == (850, 150, 400, 100, 100, 40, 210, 2)


def test_without_collectives_all_is_the_rank_s_own():
    found = own_time(STEP, kernels=table("kernels", work(0, 1_000, step=3)))
    assert found.select(PARTS).row(0) == (1_000, 0, 1_000, 0, 0, 0, 0, 1)


def test_on_the_host_operators_compute_unless_they_load():
    found = own_time(
        STEP,
        cpu_ops=table("cpu_ops", operator(50, 100, "aten::stack", step=3), operator(200, 500, "aten::mm", step=3)),
        input_wait=frame(WAITS, span(0, 150)),
    )
    assert found.select(PARTS).row(0) == (1_000, 0, 300, 0, 150, 0, 550, 2)


def test_what_began_in_the_step_before_counts_where_it_runs():
    found = own_time(step_times(timed(3, 0, 1_000), timed(4, 1_000, 2_000)), kernels=table("kernels", work(900, 1_200, step=3)))
    assert found["compute_ns"].to_list() == [100, 200]


def test_only_the_first_cycle_is_taken():
    found = own_time(step_times(timed(3, 0, 1_000), timed(3, 9_000, 9_500, cycle=1)))
    assert found["step_ns"].to_list() == [1_000]
