"""What is read out of a recording: gaps, costs, delays, dependencies and waits."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.replay.build import build_program
from analyze.replay.program import EVERYTHING, NOTHING, Program
from analyze.replay.simulate import simulate
from tests.builders import Row, launch, table, work

US = 1_000


def call(start_us: float, end_us: float, name: str = "cudaLaunchKernel", **more: object) -> Row:
    return launch(round(start_us * US), round(end_us * US), name, **more)


def item(start_us: float, end_us: float, launch_id: int, **more: object) -> Row:
    return work(round(start_us * US), round(end_us * US), launch_id=launch_id, **more)


def built(
    calls: list[Row], items: list[Row], *, until_us: float = 100, steps: int = 1, events_us: tuple[float, ...] = ()
) -> Program:
    """Program of the window from 0."""
    times = np.array(sorted(round(time * US) for time in events_us), dtype=np.int64)
    return build_program(
        table("launches", *calls),
        table("kernels", *items).select("id", "launch_id", "device", "stream", "start_ns", "dur_ns"),
        times,
        start_ns=0,
        end_ns=round(until_us * US),
        steps=steps,
    )


def us(values: np.ndarray) -> list[float]:
    return (values / US).tolist()


TWO = ([call(10, 14), call(20, 24)], [item(20, 50, 0), item(51, 71, 1)])


def test_host_time_is_gaps_and_calls_and_the_tail() -> None:
    program = built(*TWO)
    assert us(program.gap) == [10, 6, 76]
    assert us(program.cost) == [4, 4, 0]
    assert us(program.gap_start) == [0, 14, 24]
    assert us(program.call_start) == [10, 20, 100]
    assert program.call_id.tolist() == [0, 1, -1]


def test_delays_are_after_the_launch_or_after_the_stream_s_last_work() -> None:
    """The first kernel starts 10 after its launch; the second 1 after the first, which says no more of its launch."""
    program = built(*TWO)
    assert us(program.latency) == [10, 10]
    assert us(program.spacing) == [1, 1]
    assert program.depends.tolist() == [NOTHING, NOTHING]


def test_a_kernel_queued_sooner_than_usual_keeps_its_short_delay() -> None:
    """Launched at 48, started at 51: its delay was at most 3, though the usual one is 10."""
    program = built([call(10, 14), call(48, 49)], [item(20, 50, 0), item(51, 71, 1)])
    assert us(program.latency) == [10, 3]


def test_the_window_gives_back_its_own_length_when_the_host_sets_the_pace() -> None:
    assert simulate(built(*TWO, steps=2)).step_ns == 50 * US


def test_work_of_calls_outside_the_window_is_left_out() -> None:
    program = built(TWO[0], [*TWO[1], item(80, 90, 77)])
    assert program.work_id.size == 2


def test_events_are_counted_where_they_began() -> None:
    """Before the first call 2, inside it 1, between the calls 1, inside the second 2, in the tail 1; the one at 100 is outside."""
    program = built(*TWO, events_us=(0, 5, 12, 16, 20, 22, 50, 100))
    assert program.gap_events.tolist() == [2, 1, 1]
    assert program.call_events.tolist() == [1, 2, 0]
    assert program.host_events_per_step == 7


def test_calls_of_other_threads_that_overlap_take_no_time_twice() -> None:
    program = built([call(10, 30), call(15, 20), call(28, 40)], [item(35, 36, 0)])
    assert us(program.gap) == [10, 0, 0, 60]
    assert us(program.cost) == [20, 0, 10, 0]


def test_a_device_wait_is_split_into_the_wait_and_what_the_call_does_after_it() -> None:
    """All work ends at 71; the call from 30 goes on until 80."""
    program = built([*TWO[0], call(30, 80, "cudaDeviceSynchronize", work_count=0, blocking="device")], TWO[1])
    assert program.waits.tolist() == [NOTHING, NOTHING, EVERYTHING, NOTHING]
    assert (program.cost[2], program.wake[2]) == (0, 9 * US)


def test_a_wait_that_was_over_before_it_began_costs_what_the_call_cost() -> None:
    program = built([*TWO[0], call(90, 92, "cudaDeviceSynchronize", work_count=0, blocking="device")], TWO[1])
    assert program.waits[2] == EVERYTHING
    assert (program.cost[2], program.wake[2]) == (2 * US, 0)


def test_a_wait_before_any_work_waits_for_nothing() -> None:
    program = built([call(2, 5, "cudaDeviceSynchronize", work_count=0, blocking="device"), call(10, 14)], [item(20, 50, 1)])
    assert program.waits.tolist() == [NOTHING] * 3
    assert program.cost[0] == 3 * US


@pytest.mark.parametrize("blocking", ["stream", "event"])
def test_on_one_stream_a_wait_is_for_its_last_work(blocking: str) -> None:
    program = built([*TWO[0], call(30, 73, "a wait", work_count=0, blocking=blocking)], TWO[1])
    assert program.waits[2] == 1
    assert (program.cost[2], program.wake[2]) == (0, 2 * US)


def test_an_event_wait_that_ended_while_the_stream_worked_on_was_for_earlier_work() -> None:
    """The host waits until 52 for the kernel that ended at 50; the one after it runs on until 150."""
    program = built(
        [*TWO[0], call(30, 52, "cudaEventSynchronize", work_count=0, blocking="event")], [item(20, 50, 0), item(51, 150, 1)]
    )
    assert program.waits[2] == 0
    assert (program.cost[2], program.wake[2]) == (0, 2 * US)


def test_with_several_streams_a_wait_is_for_the_one_that_ended_when_it_did() -> None:
    """Stream 20 works until 95: the wait that ended at 52 was for stream 7."""
    items = [item(20, 50, 0), item(26, 95, 1, stream=20)]
    program = built([*TWO[0], call(30, 52, "cudaStreamSynchronize", work_count=0, blocking="stream")], items)
    assert program.waits[2] == 0
    assert program.wake[2] == 2 * US


def test_a_copy_from_pageable_memory_is_waited_for_by_its_own_call() -> None:
    program = built([call(10, 62, "cudaMemcpyAsync", blocking="copy"), call(70, 74)], [item(20, 60, 0), item(80, 90, 1)])
    assert program.waits.tolist() == [0, NOTHING, NOTHING]
    assert (program.cost[0], program.wake[0]) == (0, 2 * US)


def test_late_work_waits_for_what_just_ended_on_another_stream() -> None:
    """Launched at 15, started at 62, just after stream 7 was done at 60."""
    program = built([call(10, 12), call(15, 17)], [item(16, 60, 0), item(62, 70, 1, stream=20)])
    assert program.depends.tolist() == [NOTHING, 0]
    # the usual delay stands for the one that cannot be seen: the lower quartile of 6 and 47
    assert us(program.latency) == [6, 16.25]


def test_late_work_is_not_tied_to_what_ended_long_before() -> None:
    """Stream 7 was done 30 before: the delay of 77 is its own."""
    program = built([call(10, 12), call(15, 17)], [item(16, 62, 0), item(92, 95, 1, stream=20)])
    assert program.depends.tolist() == [NOTHING, NOTHING]
    assert us(program.latency) == [6, 77]


def test_prompt_work_is_not_tied_to_what_happened_to_end() -> None:
    program = built([call(10, 12), call(58, 60)], [item(16, 60, 0), item(64, 70, 1, stream=20)])
    assert program.depends.tolist() == [NOTHING, NOTHING]


def test_a_long_launch_far_ahead_of_the_device_is_the_device_s_time() -> None:
    """Launches of 1; the device starts what the one of 200 launched 4,781 later: it waited for room and costs 1."""
    calls = [*(call(2 * n, 2 * n + 1) for n in range(20)), call(40, 240)]
    items = [item(5_000 + n, 5_001 + n, n) for n in range(21)]
    assert built(calls, items, until_us=7_000).cost[20] == US


def test_a_long_launch_whose_work_follows_soon_is_the_host_s_time() -> None:
    calls = [*(call(2 * n, 2 * n + 1) for n in range(20)), call(40, 240)]
    items = [item(500 + n, 501 + n, n) for n in range(21)]
    assert built(calls, items, until_us=7_000).cost[20] == 200 * US


def test_without_calls_the_window_is_one_stretch_of_host_time() -> None:
    program = built([], [], events_us=(10, 20))
    assert us(program.gap) == [100]
    assert program.gap_events.tolist() == [2]
    assert simulate(program).step_ns == 100 * US
