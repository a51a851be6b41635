"""Every edit, on programs small enough to replay by hand."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.intervals import merge
from analyze.replay.added_cost import with_added_cost
from analyze.replay.edits import (
    as_graph,
    combine,
    with_work_duration,
    with_work_scaled,
    without_calls,
    without_host_regions,
    without_waits,
    without_work,
)
from analyze.replay.program import EVERYTHING, NOTHING
from analyze.replay.simulate import simulate
from tests.replay.programs import Call, Work, program

#: host: 0 to 20 nothing, call 100 until 30, gap until 60, call 101 until 70, gap until 90, a wait at 90
KERNEL = Work(dur=40, latency=10)
HOST = (
    Call(gap=20, cost=10, work=(KERNEL,), gap_events=2, call_events=1),
    Call(gap=30, cost=10, work=(KERNEL,), gap_events=4, call_events=1),
    Call(gap=20, cost=0, waits=EVERYTHING, wake=5),
)


def _step(*edits: object) -> float:
    return simulate(combine(*edits)(program(*HOST))).step_ns


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_unedited() -> None:
    """The second kernel starts at 70 and ends at 110; the host goes on at 115."""
    assert _step() == 115


def test_edits_never_change_the_program_they_are_given() -> None:
    one = program(*HOST)
    combine(without_host_regions(merge([0], [95])), without_work(ids(1000)), without_waits(ids(102)))(one)
    assert simulate(one).step_ns == 115


class TestHostRegions:
    def test_a_gap_shrinks_by_what_is_covered(self) -> None:
        """15 of the 20 before the first call go: all that follows is 15 earlier."""
        edited = without_host_regions(merge([3], [18]))(program(*HOST))
        assert edited.gap == pytest.approx([5, 30, 20, 0])
        assert edited.gap_events[0] == pytest.approx(2 * 5 / 20)
        assert simulate(edited).step_ns == pytest.approx(100)

    def test_host_time_that_the_device_hides_gives_nothing_back(self) -> None:
        """The second call comes 10 earlier; its kernel still queues behind the first, which ends at 70."""
        assert _step(without_host_regions(merge([45], [55]))) == pytest.approx(115)

    def test_calls_that_begin_inside_go_with_their_work_and_waits(self) -> None:
        """The second call and its kernel go, and the 5 before and after it: one kernel, from 30 to 70, is waited for at 55."""
        edited = without_host_regions(merge([55], [75]))(program(*HOST))
        assert edited.gap.tolist() == [20, 25, 15, 0]
        assert edited.work_keep.tolist() == [True, False]
        assert simulate(edited).step_ns == 75

    def test_keep_work_leaves_the_device_side(self) -> None:
        """The call costs nothing and begins at 55: the second kernel queues behind the first, 70 to 110."""
        edited = without_host_regions(merge([55], [75]), keep_work=True)(program(*HOST))
        assert edited.cost.tolist() == [10, 0, 0, 0]
        assert simulate(edited).step_ns == 115

    def test_keep_share_leaves_that_share_of_the_host_time(self) -> None:
        edited = without_host_regions(merge([30], [70]), keep_share=0.5, keep_work=True)(program(*HOST))
        assert edited.gap.tolist() == [20, 15, 20, 0]
        assert edited.cost.tolist() == [10, 5, 0, 0]

    def test_a_region_with_the_wait_drops_the_wait(self) -> None:
        edited = without_host_regions(merge([90], [91]))(program(*HOST))
        assert edited.waits.tolist() == [NOTHING] * 4
        assert edited.wake.tolist() == [0, 0, 0, 0]

    def test_two_fixes_may_each_take_their_part_of_a_gap(self) -> None:
        """5 and then 10 of the 20 before the first call."""
        both = combine(without_host_regions(merge([0], [5])), without_host_regions(merge([10], [20])))(program(*HOST))
        assert both.gap == pytest.approx([5, 30, 20, 0])
        assert both.gap_events[0] == pytest.approx(2 * 5 / 20)

    def test_no_part_of_a_gap_is_taken_twice(self) -> None:
        """10 of 20, then 5 of those again and 5 more."""
        twice = combine(without_host_regions(merge([0], [10])), without_host_regions(merge([5], [15])))(program(*HOST))
        assert twice.gap == pytest.approx([5, 30, 20, 0])

    def test_a_gap_that_is_gone_stays_gone(self) -> None:
        again = combine(without_host_regions(merge([0], [20])), without_host_regions(merge([0], [20])))(program(*HOST))
        assert again.gap == pytest.approx([0, 30, 20, 0])

    def test_no_regions_change_nothing(self) -> None:
        assert _step(without_host_regions(merge([], []))) == 115

    def test_regions_elsewhere_change_nothing(self) -> None:
        assert _step(without_host_regions(merge([500], [900]))) == 115


class TestWaits:
    def test_a_dropped_wait_frees_the_host(self) -> None:
        """The host needs 90 and the device 80: the host's pace, 90."""
        assert _step(without_waits(ids(102))) == 90

    def test_its_cost_can_be_given(self) -> None:
        assert _step(without_waits(ids(102), cost_ns=7.0)) == 97

    def test_other_calls_keep_waiting(self) -> None:
        assert _step(without_waits(ids(100, 999))) == 115


def test_calls_vanish_with_their_work_but_not_the_gaps_around_them() -> None:
    """Without the first call: the second begins at 50, its kernel runs 60 to 100, the host goes on at 105."""
    edited = without_calls(ids(100))(program(*HOST))
    assert edited.gap.tolist() == [20, 30, 20, 0]
    assert simulate(edited).step_ns == 105


def test_work_takes_the_given_durations_by_id() -> None:
    """Out of order, one unknown: the second kernel takes 100, from 70 to 170."""
    edited = with_work_duration(ids(1001, 5, 1000), np.array([100.0, 7.0, 1.0]))(program(*HOST))
    assert edited.work_dur.tolist() == [1, 100]
    assert simulate(edited).step_ns == 175


def test_no_durations_change_nothing() -> None:
    assert _step(with_work_duration(ids(), np.array([]))) == 115


def test_work_launched_within_regions_is_scaled_and_closed_up() -> None:
    spaced = program(
        Call(cost=5, work=(Work(dur=40, spacing=3), Work(dur=40, spacing=3))),
        Call(gap=5, cost=5, work=(Work(dur=40, spacing=3),)),
    )
    edited = with_work_scaled(merge([0], [5]), 0.25)(spaced)
    assert edited.work_dur.tolist() == [10, 10, 40]
    assert edited.spacing.tolist() == [0, 0, 3]


def test_device_work_vanishes_but_its_call_stays() -> None:
    """Without the second kernel the wait at 90 finds all done: 90 + 5."""
    assert _step(without_work(ids(1001))) == 95


class TestGraph:
    def test_launching_vanishes_and_waits_stay(self) -> None:
        """8 for the launch; kernels from 18 to 98 one after the other; the wait goes on at 103."""
        edited = as_graph(launch_ns=8, longest_gap_ns=1e9, keep_regions=merge([], []))(program(*HOST))
        assert edited.gap.tolist() == [8, 0, 0, 0]
        assert edited.cost.tolist() == [0, 0, 0, 0]
        assert simulate(edited).step_ns == 103

    def test_long_gaps_are_work_of_their_own(self) -> None:
        edited = as_graph(launch_ns=8, longest_gap_ns=25, keep_regions=merge([], []))(
            program(*(_recorded_free(call) for call in HOST))
        )
        assert edited.gap.tolist() == [8, 30, 0, 0]

    def test_what_recording_costs_does_not_make_a_gap_long(self) -> None:
        """Four events in it stand for more than the gap."""
        edited = as_graph(launch_ns=8, longest_gap_ns=25, keep_regions=merge([], []))(program(*HOST))
        assert edited.gap.tolist() == [8, 0, 0, 0]

    def test_kept_regions_stay_with_their_calls(self) -> None:
        """Loading from 40 to 65: 20 of the second gap and the call that begins in it."""
        edited = as_graph(launch_ns=8, longest_gap_ns=1e9, keep_regions=merge([40], [65]))(program(*HOST))
        assert edited.gap.tolist() == [8, 20, 0, 0]
        assert edited.cost.tolist() == [0, 10, 0, 0]

    def test_keep_share_stays_of_gaps_and_calls(self) -> None:
        edited = as_graph(launch_ns=0, longest_gap_ns=1e9, keep_regions=merge([], []), keep_share=0.5)(program(*HOST))
        assert edited.gap.tolist() == [10, 15, 10, 0]
        assert edited.cost.tolist() == [5, 5, 0, 0]

    def test_every_step_is_launched_once(self) -> None:
        edited = as_graph(launch_ns=8, longest_gap_ns=1e9, keep_regions=merge([], []))(program(*HOST, steps=2))
        assert edited.gap.tolist() == [8, 0, 8, 0]


def _recorded_free(call: Call) -> Call:
    return Call(gap=call.gap, cost=call.cost, work=call.work, waits=call.waits, wake=call.wake)


def test_added_cost_comes_before_the_call() -> None:
    """3 more before the second call: its kernel runs 73 to 113."""
    assert _step(with_added_cost(ids(101), 3.0)) == 118


def test_fixes_compose() -> None:
    """No wait and 20 less host time: 70 of host, 80 of device."""
    assert _step(without_waits(ids(102)), without_host_regions(merge([0], [20]))) == 80
