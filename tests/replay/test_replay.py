"""From tables to a replay: which calls and threads count, what recording costs, how savings are scaled and bounded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from analyze.errors import MissingData
from analyze.intervals import of_frame
from analyze.replay.edits import with_work_duration, without_host_regions, without_waits
from analyze.replay.event_cost import LEAN_EVENT_COST_NS, MAX_EVENT_COST_NS, event_cost
from analyze.replay.replay import Replay, replay
from tests.builders import family, kernel, marker, on_thread, step_times, table, timed
from tests.replay.programs import Call, Work, program, replay_of
from tests.timeline import US, Timeline

if TYPE_CHECKING:
    from analyze.replay.program import Program

EVERYTHING_BEFORE = (np.array([0]), np.array([10**12]))


def host_bound(steps: int = 3) -> Timeline:
    """Steps of 1,004 on the host; the device works 100 of them."""
    line = Timeline()
    for _ in range(steps):
        with line.step():
            line.python(1_000)
            line.kernel(100)
    return line


def device_bound(steps: int = 3) -> Timeline:
    """Steps of 104 on the host; the device works 1,000 in each."""
    line = Timeline()
    for _ in range(steps):
        with line.step():
            line.python(100)
            line.kernel(1_000)
    return line


def of(line: Timeline, **sources: object) -> Replay:
    found = line.workspace(**sources).get("replay")
    assert isinstance(found, Replay)
    return found


class TestWindow:
    def test_unedited_it_gives_the_host_s_pace_back(self) -> None:
        found = of(host_bound())
        assert found.profiled.step_ns == pytest.approx(1_004 * US)
        # the last step ends with its kernel, 101 after its marker: the mean of three is a third of that longer
        assert found.error_fraction == pytest.approx(1 - 1_004 / (1_004 + 101 / 3), abs=1e-6)

    def test_unedited_it_gives_the_device_s_pace_back(self) -> None:
        found = of(device_bound())
        assert found.profiled.step_ns == pytest.approx(1_000 * US, rel=0.02)
        assert found.error_fraction < 0.05

    def test_without_a_device_it_is_the_host_s_time(self) -> None:
        line = Timeline(device=None)
        for _ in range(2):
            with line.step(), line.op("aten::mm"):
                line.python(700)
        found = of(line)
        assert found.step_ns == 700 * US
        assert found.profiled.step_ns == 700 * US
        assert found.error_fraction == 0
        assert found.threads == (("1", "1"),)

    def test_without_a_device_time_and_events_are_known_between_operators(self) -> None:
        """300 with two operators inside, 50 of Python, 400 with none, and 50 until the step ends."""
        line = Timeline(device=None)
        with line.step():
            with line.op("aten::linear"), line.op("aten::addmm"), line.op("aten::copy_"):
                line.python(300)
            line.python(50)
            with line.op("aten::relu"):
                line.python(400)
            line.python(50)
        found = of(line).program
        assert found.gap.tolist() == [0, 300 * US, 50 * US, 400 * US, 50 * US]
        # the step's marker is recorded on that thread too
        assert found.gap_events.tolist() == [0, 4, 0, 1, 0]

    def test_without_a_device_an_edit_takes_the_events_of_its_region_only(self) -> None:
        """Of 1,000 a step, 500 of 50 events and 500 of one; 10 an event: without the first 490 are left, not 745."""
        line = Timeline(device=None)
        for _ in range(2):
            with line.step():
                with line.op("aten::a"):
                    for _ in range(49):
                        with line.op("aten::b"):
                            line.python(10)
                    line.python(10)
                with line.op("aten::c"):
                    line.python(500)
        found = replace(of(line), step_ns=490 * US, event_cost_ns=(10_000.0, 10_000.0, 10_000.0))
        first = line.workspace().get("cpu_ops").filter(pl.col("name").cast(pl.String) == "aten::a")
        assert found.step_after(without_host_regions(of_frame(first))) == pytest.approx(490 * US, rel=0.03)

    def test_without_a_device_uneven_steps_count_as_the_unprofiled_ones_are(self) -> None:
        """Steps of 100, 100 and 1,000 beside unprofiled ones of 100: each is 100; the self-check is of what was recorded."""
        line = Timeline(device=None)
        for us in (100, 100, 1_000):
            with line.step():
                line.python(1)
                with line.op("aten::mm"):
                    line.python(us)
                line.python(1)
        rows = [{"rank": 0, "step": n, "start_ns": n, "dur_ns": 102 * US, "phase": "baseline"} for n in range(9)]
        found = of(line, step_log=table("step_log", *rows))
        assert found.profiled.step_ns == pytest.approx(402 * US, rel=0.01)
        assert found.shown.step_ns == pytest.approx(102 * US, rel=0.01)
        assert found.error_fraction == pytest.approx(0, abs=0.01)

    def test_the_busiest_thread_stands_for_a_run_without_a_device(self) -> None:
        line = Timeline(device=None)
        with line.step(), line.op("aten::mm"):
            line.python(700)
        line.events["op_events"].append(on_thread(0, 200 * US, "aten::add", id=99, thread="2"))
        line.events["op_events"].append(on_thread(0, 300 * US, "aten::add", id=98, thread="3"))
        assert of(line).threads == (("1", "1"),)

    def test_only_the_first_cycle_is_played(self) -> None:
        line = host_bound(2)
        late = [
            marker(0, 90_000 * US, 99_000 * US) | {"id": 900},
            marker(1, 99_000 * US, 108_000 * US) | {"id": 901},
        ]
        line.events["annotation_events"] += late
        found = of(line)
        assert found.program.steps == 2
        assert found.program.end_ns == 2_008 * US

    def test_threads_that_only_wait_are_not_the_host(self) -> None:
        """A watchdog's waits are not the loop's."""
        line = host_bound()
        line.events["runtime_events"].append(on_thread(10 * US, 900 * US, "cudaEventSynchronize", id=90, thread="9"))
        found = of(line)
        assert found.threads == (("1", "1"),)
        assert 90 not in found.program.call_id.tolist()

    def test_every_launching_thread_is(self) -> None:
        line = host_bound()
        line.events["runtime_events"].append(on_thread(10 * US, 14 * US, "cudaLaunchKernel", id=90, thread="9", correlation=77))
        line.events["device_events"].append(kernel(16 * US, 20 * US, id=91, correlation=77))
        found = of(line)
        assert found.threads == (("1", "1"), ("1", "9"))
        assert 90 in found.program.call_id.tolist()

    def test_launches_without_the_device_s_side_are_missing_data(self) -> None:
        line = host_bound()
        line.events["device_events"].clear()
        with pytest.raises(MissingData, match="do not both appear"):
            of(line)

    def test_a_device_without_a_launch_in_the_steps_is_missing_data(self) -> None:
        line = Timeline()
        with line.step():
            line.python(100)
        line.kernel(10)
        with pytest.raises(MissingData, match="within the recorded steps"):
            of(line)


class TestStepTime:
    def test_it_is_the_profiled_mean_where_nothing_else_is_known(self) -> None:
        found = of(host_bound())
        assert found.step_ns == found.profiled_step_ns
        assert not found.baseline_known

    def test_a_given_baseline_wins(self) -> None:
        found = of(host_bound(), baseline_step_ms=0.9)
        assert found.step_ns == 900_000
        assert found.baseline_known

    def test_unprofiled_steps_of_the_log_are_the_baseline(self) -> None:
        rows = [{"rank": 0, "step": n, "start_ns": n, "dur_ns": 800 * US + n, "phase": "baseline"} for n in range(3)]
        other = {"rank": 0, "step": 9, "start_ns": 9, "dur_ns": 5, "phase": "settling"}
        assert of(host_bound(), step_log=table("step_log", *rows, other)).step_ns == 800 * US + 1


#: a host of 100,000 a step that recorded 10 events, nothing on a device
HOST_ONLY = program(Call(gap=100_000, gap_events=10))
#: a device of 100,000 a step; the host's 10 events hide behind it
DEVICE_ONLY = program(Call(gap=10_000, cost=0, gap_events=10, work=(Work(dur=100_000),)))


class TestEventCost:
    usual, deviation = LEAN_EVENT_COST_NS

    def test_without_a_baseline_it_is_the_usual_range(self) -> None:
        (low, used, high), shown = event_cost(HOST_ONLY, None, LEAN_EVENT_COST_NS)
        assert (low, used, high) == (self.usual - self.deviation, self.usual, self.usual + self.deviation)
        assert shown == 0

    def test_a_device_bound_step_says_nothing_about_it(self) -> None:
        (low, used, high), shown = event_cost(DEVICE_ONLY, 90_000.0, LEAN_EVENT_COST_NS)
        assert (low, used, high) == (self.usual - self.deviation, self.usual, self.usual + self.deviation)
        assert shown == 0

    def test_it_is_fitted_to_the_unprofiled_step(self) -> None:
        """100,000 recorded, 70,000 unprofiled, 10 events: 3,000 each. The prior is weighed in, but never below what is shown."""
        (low, used, high), shown = event_cost(HOST_ONLY, 70_000.0, LEAN_EVENT_COST_NS)
        assert shown == pytest.approx(3_000, rel=0.01)
        # the fit's deviation is 15 % of 70,000 over 10 events: 1,050; weights by variance
        weight = self.deviation**2 / (self.deviation**2 + 1_050**2)
        assert used == pytest.approx(max(self.usual + weight * (3_000 - self.usual), shown), rel=0.01)
        left = self.deviation * (1 - weight) ** 0.5
        assert low == pytest.approx(used - left, rel=0.01)
        assert high == pytest.approx(used + left, rel=0.01)

    def test_it_is_never_above_what_recording_can_cost(self) -> None:
        (_, used, high), shown = event_cost(HOST_ONLY, 10_000.0, LEAN_EVENT_COST_NS)
        assert shown == pytest.approx(MAX_EVENT_COST_NS, rel=0.01)
        assert used <= high <= MAX_EVENT_COST_NS

    def test_an_unprofiled_step_that_is_slower_shows_no_cost(self) -> None:
        (low, used, _), shown = event_cost(HOST_ONLY, 120_000.0, LEAN_EVENT_COST_NS)
        assert shown == 0
        assert 0 <= low <= used < self.usual

    def test_rich_recordings_cost_more_for_each_event(self) -> None:
        lean = of(host_bound()).event_cost_ns
        line = host_bound()
        line.frame("train.py(1): step", 0, 10)
        assert of(line).event_cost_ns[1] > lean[1]


def _replay(one: Program, step_ns: float, profiled_ns: float | None = None, *, cost: float = 0.0, known: bool = True) -> Replay:
    return Replay(
        program=one,
        step_ns=step_ns,
        profiled_step_ns=profiled_ns or step_ns,
        event_cost_ns=(cost, cost, cost),
        shown_event_cost_ns=cost,
        baseline_known=known,
        threads=(("1", "1"),),
    )


class TestStepAfter:
    host = program(Call(gap=1_000, cost=0), Call(gap=1_000, work=(Work(dur=500),)))

    def test_it_is_scaled_to_the_reported_step(self) -> None:
        """Replayed 2,000, reported 3,000: half of it is 1,500."""
        found = _replay(self.host, 3_000)
        assert found.step_after(lambda one: one) == 3_000
        assert found.step_after(without_host_regions((np.array([0]), np.array([1_000])))) == 1_500

    def test_scaling_down_keeps_the_device_s_recorded_time(self) -> None:
        """Replayed 2,000, reported 800. Without host time 500 of device work are left: scaled they would be 200."""
        found = _replay(self.host, 800)
        assert found.step_after(without_host_regions(EVERYTHING_BEFORE, keep_work=True)) == 500

    def test_the_floor_is_no_more_than_the_replay_itself_says(self) -> None:
        """The fix leaves 1,000 of host time with 500 of work: 400 scaled, but not below 500."""
        found = _replay(self.host, 800)
        assert found.step_after(without_host_regions((np.array([0]), np.array([1_000])))) == 500

    def test_host_time_is_scaled_below_the_device_s_only_together_with_it(self) -> None:
        """Where the fix shortens the work too, the floor follows: 100 of work, 400 scaled."""
        found = _replay(self.host, 800)
        shorter = with_work_duration(np.array([1_000]), np.array([100.0]))
        half = without_host_regions((np.array([0]), np.array([1_000])))
        assert found.step_after(lambda one: half(shorter(one))) == 400

    def test_the_floor_is_the_busiest_stream_s(self) -> None:
        two = program(Call(gap=2_000, work=(Work(dur=500), Work(dur=700, stream=1), Work(dur=100, stream=1))))
        assert _replay(two, 400).step_after(without_host_regions(EVERYTHING_BEFORE, keep_work=True)) == 800


class TestSaving:
    def test_it_is_the_difference(self) -> None:
        waiting = program(Call(gap=100, work=(Work(dur=300),)), Call(waits=0), Call(gap=200))
        found = _replay(waiting, 600)
        # without the wait the device's 300 and the host's 300 overlap
        saving = found.saving(without_waits(np.array([101])))
        assert (saving.ns, saving.low_ns, saving.high_ns) == (300, 300, 300)

    def test_it_is_never_negative(self) -> None:
        found = _replay(TestStepAfter.host, 2_000)
        assert found.saving(with_work_duration(np.array([1_000]), np.array([9_999.0]))).ns == 0

    def test_it_is_never_more_than_the_step(self) -> None:
        found = _replay(program(Call(gap=1_000)), 2_000)
        assert found.saving(without_host_regions(EVERYTHING_BEFORE)).ns == 2_000

    def test_bounds_come_from_what_recording_may_cost(self) -> None:
        """100 of plain work and 100 with 10 events: at 0, 2 and 4 an event the latter is 100 of 200, 80 of 180, 60 of 160."""
        one = program(Call(gap=100, gap_events=0), Call(gap=100, gap_events=10))
        found = replace(_replay(one, 180), event_cost_ns=(0.0, 2.0, 4.0))
        saving = found.saving(without_host_regions((np.array([100]), np.array([200]))))
        assert saving.ns == pytest.approx(80)
        assert saving.high_ns == pytest.approx(90)
        assert saving.low_ns == pytest.approx(180 * 60 / 160)


class TestTrust:
    exact = _replay(TestStepAfter.host, 2_000)

    def test_an_exact_replay_of_a_known_step_is_trusted_most(self) -> None:
        assert self.exact.trust(host_side=True) == 0.95
        assert self.exact.trust(host_side=False) == 0.95

    def test_unknown_recording_cost_caps_what_host_time_gives_back(self) -> None:
        unknown = replace(self.exact, baseline_known=False)
        assert unknown.trust(host_side=True) == 0.7
        assert unknown.trust(host_side=False) == 0.95

    def test_host_times_of_a_disturbed_recording_are_trusted_less(self) -> None:
        """A fifth of what was recorded is left out; a tenth is within what two runs differ by."""
        for left_out, trusted in ((20_000, 0.7), (10_000, 0.95)):
            found = _replay(program(Call(gap=100_000 - left_out)), 80_000.0, 100_000.0)
            disturbed = replace(found, recorded=program(Call(gap=100_000)))
            assert disturbed.disturbed_fraction == pytest.approx(left_out / 100_000)
            assert disturbed.trust(host_side=True) == trusted
            assert disturbed.trust(host_side=False) == 0.95

    def test_a_replay_that_is_off_is_trusted_less(self) -> None:
        off = _replay(TestStepAfter.host, 2_000, profiled_ns=2_500)
        assert off.error_fraction == pytest.approx(0.2)
        assert off.trust(host_side=False) == pytest.approx(0.55)

    def test_trust_does_not_fall_below_a_little(self) -> None:
        assert _replay(TestStepAfter.host, 2_000, profiled_ns=99_000).trust(host_side=True) == pytest.approx(0.05)


def test_of_several_cycles_the_first_is_played_and_all_give_the_step_time() -> None:
    """The window that is played is the first cycle, held against its own times; savings are of the mean that the report gives."""
    steps = table(
        "steps", {"step": 0, "start_ns": 0, "dur_ns": 500, "cycle": 0}, {"step": 5, "start_ns": 900, "dur_ns": 50, "cycle": 1}
    )
    times = step_times(timed(0, 0, 500), timed(5, 900, 950, cycle=1))
    families = [family(name) for name in ("op_events", "runtime_events", "memory_events", "annotation_events", "python_events")]
    found = replay(steps, times, *families)
    assert (found.program.steps, found.profiled_step_ns, found.step_ns) == (1, 500, 275)
    assert pl.DataFrame({"threads": list(found.threads)}).is_empty()


class TestHostTimeRemoved:
    """1,000 and 500 of the host's time, ten events in the first; 2,000 of device work, on which nothing waits."""

    BUILT = program(Call(gap=1_000, gap_events=10, work=(Work(dur=2_000),)), Call(gap=500))
    FIRST = (np.array([0]), np.array([1_000]))

    def test_it_counts_although_the_device_sets_the_pace(self) -> None:
        found = replay_of(self.BUILT)
        assert found.host_time_removed_ns(without_host_regions(self.FIRST)) == 1_000
        # two passes: the device's 2,000 each
        assert found.saving(without_host_regions(self.FIRST)).ns == pytest.approx(0)

    def test_less_what_recording_costs(self) -> None:
        """At 20 an event the first stretch is 800 of 1,300 on the host; nothing on the device changes."""
        found = replace(replay_of(self.BUILT), event_cost_ns=(20.0, 20.0, 20.0))
        assert found.host_time_removed_ns(without_host_regions(self.FIRST)) == pytest.approx(800)

    def test_in_time_of_the_reported_step(self) -> None:
        found = replay_of(self.BUILT)
        assert replace(found, step_ns=found.step_ns / 2).host_time_removed_ns(without_host_regions(self.FIRST)) == 500

    def test_an_edit_that_removes_no_host_time(self) -> None:
        assert replay_of(self.BUILT).host_time_removed_ns(with_work_duration(np.array([1000]), np.array([1.0]))) == 0
