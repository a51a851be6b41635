"""Playing programs forward, against times computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.replay import simulate as module
from analyze.replay.program import EVERYTHING, NOTHING, Program
from analyze.replay.simulate import Played, simulate
from tests.replay.programs import Call, Work, program

LAUNCH = Call(gap=10, cost=4, work=(Work(dur=5, latency=6),))


def _both(one: Program) -> tuple[Played, Played]:
    """Played a run at a time, and one call at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT_RUN", 0)
        in_runs = simulate(one)
        patch.setattr(module, "SHORT_RUN", 1_000_000)
        return in_runs, simulate(one)


@pytest.fixture(params=[0, 1_000_000], ids=["in runs", "step by step"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of playing give the times below."""
    monkeypatch.setattr(module, "SHORT_RUN", request.param)


@pytest.mark.usefixtures("way")
class TestByHand:
    def test_a_host_slower_than_the_device_sets_the_pace(self) -> None:
        """Three launches of 14; each kernel starts 6 after its call began and is done before the next."""
        played = simulate(program(LAUNCH, LAUNCH, LAUNCH))
        assert played.step_ns == 42
        assert (played.call_begin - played.pass_begin).tolist() == [3, 17, 31, 35]
        # the pass begins when the device is done with the one before: the host is 7 ahead
        assert (played.work_start - played.pass_begin).tolist() == [9, 23, 37]

    def test_a_device_slower_than_the_host_sets_the_pace(self) -> None:
        """Three kernels of 20 with 1 between them, launched every 14."""
        slow = Call(gap=10, cost=4, work=(Work(dur=20, latency=6, spacing=1),))
        assert simulate(program(slow, slow, slow)).step_ns == 63

    def test_the_step_is_the_window_s_share(self) -> None:
        assert simulate(program(LAUNCH, LAUNCH, LAUNCH, steps=3)).step_ns == 14

    def test_a_copy_from_pageable_memory_holds_the_host(self) -> None:
        """Called at 10, copies from 15 to 45, the host goes on at 46; then 4 of host work and a tail of 0."""
        copying = Call(gap=10, cost=2, work=(Work(dur=30, latency=5),), waits=0, wake=1)
        assert simulate(program(copying, Call(gap=4))).step_ns == 50

    def test_a_device_wait_is_for_every_stream(self) -> None:
        """Stream 1 works until 105, stream 0 until 35; the host goes on at 105 + 2 and adds 3."""
        short = Call(gap=10, cost=5, work=(Work(dur=20, latency=5),))
        long = Call(gap=0, cost=5, work=(Work(dur=85, latency=5, stream=1),))
        synchronise = Call(gap=1, cost=1, waits=EVERYTHING, wake=2)
        assert simulate(program(short, long, synchronise, Call(gap=3))).step_ns == 110

    def test_a_stream_wait_is_for_its_work_only(self) -> None:
        """The host waits for the short kernel (until 35), then works 100: stream 1 has ended long before."""
        short = Call(gap=10, cost=5, work=(Work(dur=20, latency=5),))
        long = Call(gap=0, cost=5, work=(Work(dur=85, latency=5, stream=1),))
        synchronise = Call(gap=1, cost=1, waits=0, wake=2)
        assert simulate(program(short, long, synchronise, Call(gap=100))).step_ns == 137

    def test_a_wait_that_is_over_costs_nothing(self) -> None:
        """The kernel ends at 11; the call at 34 finds it done."""
        synchronise = Call(gap=30, cost=2, waits=0)
        assert simulate(program(Call(cost=4, work=(Work(dur=5, latency=6),)), synchronise)).step_ns == 36

    def test_work_waits_for_another_stream(self) -> None:
        """A runs from 6 to 106 on stream 0; B, launched at 4, begins when A ends and takes 50."""
        a = Call(cost=4, work=(Work(dur=100, latency=6),))
        b = Call(cost=4, work=(Work(dur=50, latency=6, stream=1, depends=0),))
        played = simulate(program(a, b, Call(waits=EVERYTHING)))
        assert played.step_ns == 156
        assert (played.work_start - played.pass_begin).tolist() == [6, 106]

    def test_streams_without_a_dependency_work_side_by_side(self) -> None:
        a = Call(cost=4, work=(Work(dur=100, latency=6),))
        b = Call(cost=4, work=(Work(dur=50, latency=6, stream=1),))
        assert simulate(program(a, b, Call(waits=EVERYTHING))).step_ns == 106

    def test_a_graph_launch_starts_all_its_kernels_in_order(self) -> None:
        """One call at 10, then 10 + 20 + 30 on the device with 1 between: from 15 to 77."""
        items = (Work(dur=10, latency=5, spacing=1), Work(dur=20, latency=5, spacing=1), Work(dur=30, latency=5, spacing=1))
        assert simulate(program(Call(gap=10, cost=3, work=items), Call(waits=EVERYTHING))).step_ns == 77

    def test_work_of_one_launch_may_wait_for_other_work_of_it(self) -> None:
        """Two branches of a graph that join: 10 on stream 0, then 20 on stream 1, then 5 on stream 0."""
        items = (Work(dur=10), Work(dur=20, stream=1, depends=0), Work(dur=5, depends=1))
        assert simulate(program(Call(cost=1, work=items), Call(waits=EVERYTHING))).step_ns == 35

    def test_work_that_is_not_kept_takes_no_time(self) -> None:
        gone = Call(gap=10, cost=4, work=(Work(dur=500, latency=6, keep=False),))
        assert simulate(program(LAUNCH, gone, LAUNCH)).step_ns == 42

    def test_without_a_device_the_step_is_the_host_s(self) -> None:
        assert simulate(program(Call(gap=70), steps=2)).step_ns == 35

    def test_recording_costs_come_off_where_the_events_were(self) -> None:
        """Ten events in a gap of 100, two in a call of 20: 100 - 30 and 20 - 6."""
        recorded = Call(gap=100, cost=20, gap_events=10, call_events=2)
        assert simulate(program(recorded), 3.0).step_ns == 84

    def test_recording_never_costs_more_than_there_was(self) -> None:
        assert simulate(program(Call(gap=10, cost=5, gap_events=100, call_events=100), Call(gap=7)), 1.0).step_ns == 7


WORK = st.builds(
    Work,
    dur=st.integers(0, 50).map(float),
    stream=st.integers(0, 2),
    latency=st.integers(0, 20).map(float),
    spacing=st.integers(0, 3).map(float),
    keep=st.sampled_from([True, True, True, False]),
)
CALL = st.builds(
    Call,
    gap=st.integers(0, 30).map(float),
    cost=st.integers(0, 10).map(float),
    work=st.lists(WORK, max_size=3).map(tuple),
    wake=st.integers(0, 3).map(float),
)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any calls, with waits for what was issued so far and dependencies on earlier work of other streams."""
    made = program(*draw(st.lists(CALL, min_size=1, max_size=12)))
    waits, depends = made.waits.copy(), made.depends.copy()
    for call in range(waits.size - 1):
        issued = int(np.searchsorted(made.work_call, call, side="right"))
        waits[call] = draw(st.sampled_from([NOTHING, NOTHING, EVERYTHING, *range(max(issued - 2, 0), issued)]))
    for work in range(depends.size):
        others = [earlier for earlier in range(max(work - 4, 0), work) if made.work_stream[earlier] != made.work_stream[work]]
        depends[work] = draw(st.sampled_from([NOTHING, NOTHING, *others]))
    return replace(made, waits=waits, depends=depends)


@settings(max_examples=80, deadline=None)
@given(programs())
def test_both_ways_of_playing_agree(one: Program) -> None:
    in_runs, stepwise = _both(one)
    assert in_runs.step_ns == pytest.approx(stepwise.step_ns)
    for name in ("call_begin", "call_end", "gap_begin"):
        np.testing.assert_allclose(getattr(in_runs, name), getattr(stepwise, name), err_msg=name)
    for name in ("work_start", "work_end"):
        kept = one.work_keep
        np.testing.assert_allclose(getattr(in_runs, name)[kept], getattr(stepwise, name)[kept], err_msg=name)


@settings(max_examples=40, deadline=None)
@given(programs())
def test_nothing_runs_before_it_may(one: Program) -> None:
    played = simulate(one)
    kept = np.flatnonzero(one.work_keep)
    assert (played.work_start[kept] >= played.call_begin[one.work_call[kept]] + one.latency[kept] - 1e-6).all()
    for stream in range(one.streams):
        mine = kept[one.work_stream[kept] == stream]
        assert (played.work_start[mine[1:]] >= played.work_end[mine[:-1]] - 1e-6).all()
    assert played.step_ns >= max(one.gap.sum() + one.cost.sum(), 0) - 1e-6
