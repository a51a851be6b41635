"""Ranks on one device: what each gets of it, in whatever order things happen."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.replay.turns import Operation, Turns, operations

NOTHING = np.zeros(1)


def run(work, step=0):
    return Operation("device", step, alone_ns=work)


def elsewhere(time, step=0):
    return Operation("elsewhere", step, alone_ns=time)


def arrive(collective=0):
    return Operation("arrive", 0, collective=collective)


def hold(collective=0):
    return Operation("hold", 0, collective=collective)


def turns(*ranks, devices=None, **more):
    return Turns(operations=ranks, device=devices or ("a",) * len(ranks), steps=1, **more)


def test_alone_on_the_device_kernels_take_what_they_take():
    assert turns((elsewhere(50), run(100))).play(NOTHING, change_over=0.2) == pytest.approx(150)


def test_two_at_once_get_half_each():
    assert turns((run(100), arrive(), hold()), (run(100), arrive(), hold())).play(NOTHING, change_over=0.0) == pytest.approx(200)


def test_changing_over_costs_its_share():
    both = turns((run(90), arrive(), hold()), (run(90), arrive(), hold()))
    assert both.play(NOTHING, change_over=0.1) == pytest.approx(200)


def test_whoever_comes_later_shares_what_is_left():
    # alone for 60, then half each: 40 + 40 for the first; the second has 60 left by then, alone again
    both = turns((run(100), arrive(), hold()), (elsewhere(60), run(100), arrive(), hold()))
    assert both.play(NOTHING, change_over=0.0) == pytest.approx(60 + 80 + 60)


def test_on_devices_of_their_own_nobody_takes_turns():
    both = turns((run(100), arrive(), hold()), (run(140), arrive(), hold()))
    assert both.on_own_devices().play(NOTHING, change_over=0.1) == pytest.approx(140)
    assert turns(*both.operations, devices=("a", None)).play(NOTHING, change_over=0.1) == pytest.approx(140)


def test_factors_are_of_a_rank_s_step():
    one = Turns(operations=((run(100), elsewhere(10), run(100, 1), elsewhere(10, 1)),), device=("a",), steps=2)
    factors = {"computing": np.array([[0.5, 1.0]]), "elsewhere": np.array([[1.0, 0.0]])}
    assert one.play(NOTHING, **factors) == pytest.approx((50 + 10 + 100 + 0) / 2)


def test_a_transfer_is_waited_for_and_hidden_work_is_not():
    sends = turns((run(100), arrive(), run(30), hold()), (run(100), arrive(), run(30), hold()), devices=("a", "b"))
    assert sends.play(np.array([20.0])) == pytest.approx(130)
    assert sends.play(np.array([50.0])) == pytest.approx(150)


def test_a_busy_thread_does_one_after_another():
    ranks = ((run(10), arrive(0), arrive(1), hold(0), hold(1)),) * 2
    apart, behind = ({}, {1: frozenset({0})})
    took = [turns(*ranks, devices=("a", "b"), queued_behind=queue).play(np.array([50.0, 30.0])) for queue in (apart, behind)]
    assert took == pytest.approx([60, 90])


def test_it_plays_until_both_are_in_step():
    # the second window begins as the first ended: the late rank is late again, no more
    late = turns((elsewhere(10), arrive(), hold()), (elsewhere(500), arrive(), hold()))
    assert late.play(np.array([5.0])) == pytest.approx(505)


def test_stamps_that_contradict_one_another_do_not_stop_it():
    crossed = turns((arrive(0), hold(0), arrive(1)), (hold(1), arrive(0), arrive(1)))
    assert crossed.play(np.array([5.0, 5.0])) >= 0


def test_operations_are_cut_at_marks_and_steps():
    spans = tuple(np.array([value]) for value in (20.0, 120.0, 40.0, 30.0))
    found = operations([(70.0, "arrive", 0), (120.0, "hold", 0)], spans, np.array([0.0, 100.0, 150.0]))
    assert [(one.kind, one.step) for one in found] == [
        ("elsewhere", 0), ("device", 0), ("arrive", 0), ("device", 0), ("device", 1), ("hold", 0), ("elsewhere", 1),
    ]  # fmt: skip
    # 70 of shared and unshared time, in proportion to 50, 30 and 20 of 100
    assert [one.work_ns(0.0) for one in found if one.kind == "device"] == pytest.approx([35.0, 21.0, 14.0])
    assert [one.alone_ns for one in found if one.kind == "elsewhere"] == pytest.approx([20.0, 30.0])


def test_work_by_itself_is_told_by_rank_and_step():
    one = Turns(operations=((Operation("device", 1, 40.0, 30.0), elsewhere(7, 0)),), device=("a",), steps=2)
    assert one.work_ns(0.1).tolist() == [[0.0, 67.0]]
    assert one.elsewhere_ns().tolist() == [[7.0, 0.0]]
