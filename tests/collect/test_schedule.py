from __future__ import annotations

import pytest

from collect.limits import Limits, fit
from collect.schedule import Schedule

MS = 1_000_000


def phases(schedule: Schedule, durations_ns: list[int], **epoch: int) -> str:
    """One letter a step: Settling, Baseline, Warmup, Times, Explanations, Idle."""
    letters = ""
    for dur_ns in durations_ns:
        letters += schedule.stage.phase[0].upper()
        schedule.advance(dur_ns, **epoch)
    return letters


def test_a_steady_loop_goes_through_every_stage_once():
    schedule = Schedule(limits=Limits(baseline_steps=30))
    # 40 ms a step: thirty of them are longer than a second
    assert phases(schedule, [40 * MS] * 90) == "S" * 7 + "B" * 30 + "WWWW" + "TTTTT" + "WWW" + "EE" + "WW" + "B" * 30 + ("I" * 7)
    assert schedule.done
    assert schedule.missing == []
    assert schedule.notes == []
    assert schedule.settled_at_step == 7


def test_steps_are_skipped_until_their_time_settles():
    schedule = Schedule()
    durations = [900 * MS, 500 * MS, 100 * MS, 100 * MS, 100 * MS, 60 * MS, 60 * MS, 60 * MS, 60 * MS, 60 * MS, 60 * MS]
    # the medians of three neighbouring steps agree for the first time at 100, 60, 60 | 60, 60, 60: within a fifth
    assert phases(schedule, durations) == "S" * 10 + "B"
    assert schedule.settled_at_step == 10


def test_a_loop_that_never_settles_is_measured_all_the_same_and_says_so():
    schedule = Schedule(limits=Limits(settle_most_steps=12))
    phases(schedule, [MS * 2**i for i in range(12)])
    assert schedule.stage.phase == "baseline"
    assert schedule.notes == ["step time had not settled after 12 steps; measured all the same"]


def test_settling_is_cut_by_time_where_steps_are_slow():
    schedule = Schedule(limits=Limits(settle_most_s=30))
    assert phases(schedule, [11_000 * MS] * 4) == "SSSB"


def test_short_steps_delay_no_window_and_are_measured_for_a_second_after_them():
    letters = phases(Schedule(), [10 * MS] * 170)
    assert letters == "S" * 7 + "B" * 30 + "WWWWTTTTTWWWEEWW" + "B" * 100 + "I" * 17


def test_a_last_stretch_that_has_its_steps_is_not_missing():
    schedule = Schedule()
    phases(schedule, [MS] * (7 + 30 + 16 + 29))
    assert schedule.missing == ["baseline after"]
    schedule.advance(MS)
    assert not schedule.done
    assert schedule.missing == []


def test_a_baseline_of_slow_steps_is_cut_at_its_time_limit_and_says_so():
    schedule = Schedule()
    letters = phases(schedule, [1_500 * MS] * 14)
    # seven to settle, then 7 x 1.5 s = 10.5 s
    assert letters == "S" * 7 + "B" * 7
    assert schedule.stage.name == "throw-away"
    assert schedule.notes == ["baseline before: 7 steps, cut at 10 s"]


def test_the_hoard_of_the_input_pipeline_is_used_up_before_each_window():
    schedule = Schedule(prefetched_batches=6)
    letters = phases(schedule, [40 * MS] * 110)
    assert letters.startswith("S" * 7 + "B" * 30 + "W" * 8 + "TTTTT" + "W" * 7 + "EE" + "W" * 6 + "B" * 30)


def test_a_window_waits_for_an_epoch_that_can_hold_it():
    schedule = Schedule(limits=Limits(fixed=True, settle_fixed_steps=1, baseline_steps=1, refill_steps=1))
    assert phases(schedule, [MS] * 3) == "SBW"
    # arming takes one step, the window five: three left are too few, and the refill goes on
    assert not schedule.advance(MS, left_in_epoch=3, epoch_steps=50)
    assert schedule.stage.name == "refill"
    assert schedule.advance(MS, left_in_epoch=50, epoch_steps=50)
    assert schedule.stage.name == "arm times"


def test_a_window_does_not_wait_where_no_epoch_could_hold_it():
    schedule = Schedule(limits=Limits(fixed=True, settle_fixed_steps=1, baseline_steps=1, refill_steps=1))
    assert phases(schedule, [MS] * 4, left_in_epoch=1, epoch_steps=4) == "SBWW"
    assert schedule.stage.name == "arm times"


def test_ranks_with_different_clocks_open_their_windows_at_the_same_step():
    limits = Limits(fixed=True)
    quick = phases(Schedule(limits=limits), [MS] * 100)
    slow = phases(Schedule(limits=limits), [(900 - 7 * i) * MS for i in range(100)])
    assert quick == slow
    assert "TTTTT" in quick


@pytest.mark.parametrize("total", [11, 15, 20, 28, 40, 60])
def test_a_short_loop_still_gets_both_windows(total: int):
    limits, notes = fit(Limits(), total)
    letters = phases(Schedule(limits=limits), [40 * MS] * total)
    assert letters.count("T") == 5
    assert letters.count("E") == 2
    assert letters.startswith("S")
    assert len(notes) == 1


def test_a_loop_too_short_for_windows_is_timed_and_says_so():
    limits, notes = fit(Limits(), 8)
    assert phases(Schedule(limits=limits), [40 * MS] * 8) == "S" + "B" * 7
    assert notes == ["a loop of 8 steps is too short for the profiler windows: they need 11"]


def test_a_long_loop_is_left_as_it_is():
    assert fit(Limits(), 1000) == (Limits(), [])
    assert fit(Limits(), None) == (Limits(), [])


def test_what_a_run_that_ended_early_lacks_is_named():
    schedule = Schedule()
    phases(schedule, [40 * MS] * 10)
    assert schedule.missing == ["baseline before", "times", "explanations", "baseline after"]


def test_without_windows_there_is_one_baseline():
    schedule = Schedule(limits=Limits(windows=False))
    assert phases(schedule, [40 * MS] * 40) == "S" * 7 + "B" * 30 + "III"


def test_steps_to_go_counts_down_to_zero():
    schedule = Schedule()
    to_go = []
    while not schedule.done:
        to_go.append(schedule.steps_to_go())
        schedule.advance(40 * MS)
    assert to_go == list(range(83, 0, -1))
    assert schedule.steps_to_go() == 0
