"""Launches that waited for room in a full queue, and host time added by a fix."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.replay.added_cost import with_added_cost
from analyze.replay.edits import combine, with_work_duration
from analyze.replay.queue_waits import without_queue_waits
from analyze.replay.replay import Replay
from analyze.replay.simulate import simulate
from tests.replay.programs import Call, Work, program


def replay_of(built) -> Replay:
    step_ns = simulate(built).step_ns
    return Replay(
        program=built, step_ns=step_ns, profiled_step_ns=step_ns, event_cost_ns=(0.0, 0.0, 0.0), shown_event_cost_ns=0.0,
        baseline_known=True, threads=(("1", "1"),),
    )  # fmt: skip


#: twenty kernels of 1 ms; from the tenth on each launch waits for one to end
BLOCKED = program(*[Call(cost=5_000.0 if turn < 10 else 1_000_000.0, work=(Work(dur=1_000_000.0),)) for turn in range(20)])


def test_with_faster_work_launches_wait_no_longer() -> None:
    replay = replay_of(BLOCKED)
    faster = with_work_duration(np.arange(1000, 1020), np.full(20, 10_000.0))
    assert simulate(faster(BLOCKED)).step_ns > 9_000_000
    free = combine(faster, without_queue_waits(replay))
    # the costs' median is between 5 µs and 1 ms here: the launches far behind take no more than that
    assert simulate(free(BLOCKED)).step_ns <= simulate(faster(BLOCKED)).step_ns


def test_only_long_launches_far_ahead_of_the_device_change() -> None:
    costs = [5_000.0] * 15 + [1_000_000.0] * 5
    built = program(*[Call(cost=cost, work=(Work(dur=1_500_000.0),)) for cost in costs])
    edited = without_queue_waits(replay_of(built))(built)
    assert edited.cost.tolist()[:20] == [5_000.0] * 20
    near = program(*[Call(cost=cost, work=(Work(dur=1_000.0),)) for cost in costs])
    assert without_queue_waits(replay_of(near))(near).cost.tolist() == near.cost.tolist()


def test_calls_that_wait_by_themselves_keep_their_cost() -> None:
    built = program(Call(cost=5_000.0, work=(Work(dur=5_000_000.0),)), Call(cost=400_000.0, waits=0))
    assert without_queue_waits(replay_of(built))(built).cost.tolist() == built.cost.tolist()


def test_added_cost_comes_before_the_named_calls() -> None:
    built = program(Call(gap=10.0, cost=5.0), Call(gap=20.0, cost=5.0))
    assert with_added_cost(np.array([101]), 7.0)(built).gap.tolist() == [10.0, 27.0, 0.0]


def test_added_cost_lengthens_a_host_bound_step() -> None:
    built = program(Call(gap=100.0, cost=5.0, work=(Work(dur=1.0),)))
    longer = with_added_cost(np.array([100]), 50.0)(built)
    assert simulate(longer).step_ns - simulate(built).step_ns == pytest.approx(50.0)
