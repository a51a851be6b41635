from __future__ import annotations

from analyze.analyses.step_time import step_time
from tests.builders import copy, launch, step, table, work


def of(*arguments, **named):
    return step_time(*arguments, **named).select("step", "start_ns", "step_ns", "host_ns", "device_end_ns").rows()


def test_a_step_ends_when_host_and_device_are_done():
    """Step 0: host until 100, its kernel until 130; step 1: host until 200, its copy until 180."""
    steps = table("steps", step(0, 0, 100), step(1, 100, 200))
    kernels = table("kernels", work(50, 130, step=0))
    copies = table("copies", copy(150, 180, step=1))
    assert of(steps, kernels, copies) == [(0, 0, 130, 100, 130), (1, 130, 70, 100, 180)]


def test_where_the_host_runs_ahead_steps_are_the_device_s():
    """Markers of 10; kernels of 100 one after the other."""
    steps = table("steps", *(step(n, n * 10, n * 10 + 10) for n in range(3)))
    kernels = table("kernels", *(work(5 + n * 100, 105 + n * 100, step=n) for n in range(3)))
    assert of(steps, kernels) == [(0, 0, 105, 10, 105), (1, 105, 100, 10, 205), (2, 205, 100, 10, 305)]


def test_without_a_device_steps_are_the_host_s():
    assert of(table("steps", step(0, 0, 100), step(1, 120, 200))) == [(0, 0, 100, 100, None), (1, 100, 100, 80, None)]


def test_a_step_never_ends_before_the_one_before_it():
    steps = table("steps", step(0, 0, 100), step(1, 100, 200))
    kernels = table("kernels", work(50, 260, step=0))
    assert [(row[0], row[2]) for row in of(steps, kernels)] == [(0, 260), (1, 0)]


def test_work_launched_before_the_window_delays_its_first_step():
    steps = table("steps", step(0, 100, 200))
    kernels = table("kernels", work(50, 130), work(130, 260, step=0))
    assert of(steps, kernels) == [(0, 130, 130, 100, 260)]


def test_a_backlog_that_was_not_recorded_shows_in_the_first_launch():
    """The first kernel starts 300,000 after its launch at 10: the device was busy with steps the trace lacks."""
    steps = table("steps", step(0, 0, 100), step(1, 100, 200))
    kernels = table("kernels", work(300_010, 400_010, step=0, launch_id=1), work(400_010, 500_010, step=1, launch_id=2))
    launched = table("launches", launch(10, 14, id=1), launch(110, 114, id=2))
    found = of(steps, kernels, None, launched)
    assert [row[:3] for row in found] == [(0, 300_000, 100_010), (1, 400_010, 100_000)]


def test_each_cycle_begins_anew():
    """500 between the cycles are not a step."""
    steps = table("steps", step(0, 0, 100), step(0, 600, 700, cycle=1))
    assert of(steps) == [(0, 0, 100, 100, None), (0, 600, 100, 100, None)]


def test_only_settled_unprofiled_steps_of_the_log_count():
    phases = ("settling", "baseline", "warmup", "times", "explanations", "idle")
    log = table(
        "step_log",
        *(
            {"rank": 0, "step": n, "start_ns": n * 10, "dur_ns": 10 + n, "input_wait_ns": n, "samples": 8, "phase": phase}
            for n, phase in enumerate(phases)
        ),
    )
    found = step_time(table("steps", step(3, 30, 50)), step_log=log)
    assert found.select("step", "step_ns", "input_wait_ns", "samples", "profiled", "cycle").rows() == [
        (3, 20, None, None, True, 0),
        (1, 11, 1, 8, False, None),
    ]


def test_nothing_known_is_no_rows():
    assert step_time().is_empty()
