"""Somebody else's job on the same card."""

from __future__ import annotations

import polars as pl
import pytest

from analyze import engine
from analyze.analyses.device_state import COLUMNS
from analyze.analyses.rank_state import COLUMNS as STATE
from analyze.engine import Workspace
from tests.builders import frame, step_times, timed
from tests.timeline import Timeline

MS = 1_000_000

ID = "other-processes"
MANIFEST = {"devices": [{"index": 0, "uuid": "GPU-a"}]}


def _card(count=1, percent=50.0, held=8_000_000_000, uuid="GPU-a", samples=1_000_000):
    return {
        "host": "a",
        "device_uuid": uuid,
        "samples": 9,
        "memory_total_bytes": 80_000_000_000,
        "other_processes_count": count,
        "other_processes_sm_percent": percent,
        "other_processes_samples": samples,
        "other_processes_bytes": held,
    }


def _with_profiled(steps):
    """These unprofiled steps beside the recorded ones."""
    return pl.concat([_busy(9_000).workspace().frame("step_time"), steps])


def _outcome(*cards, mine="GPU-a", line=None, baseline_step_ms=10.0, **more):
    sources = {"device_state": frame(COLUMNS, *cards), "manifest": MANIFEST, "rank_state": frame(STATE, {"device_uuid": mine})}
    workspace = (line or _busy(9_000)).workspace(baseline_step_ms=baseline_step_ms, **sources, **more)
    return workspace.outcome(*engine.detectors()[ID])


def _busy(kernel_us):
    """Steps of 10 ms in which the card runs one kernel of this run's."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.kernel(kernel_us)
            line.synchronise()
            line.python(10_000 - kernel_us)
    return line


def test_without_them_kernels_are_as_short_as_their_own_share():
    (finding,) = _outcome(_card()).findings
    # half of 9 ms is the others', and a tenth of what was shared went on changing over
    assert finding.step_saving_ns == pytest.approx(9 * 0.55 * MS, rel=0.02)
    assert (finding.kind, finding.basis) == ("saving", "modelled")
    # theirs may fall into the free tenth of the step as far as it goes, or all into these kernels
    assert finding.step_saving_low_ns == pytest.approx((0.5 - 0.1) * 10 * MS, rel=0.06)
    # one of two takes half a turn at most: of 9 ms, with a fifth of that lost in changing over
    assert finding.step_saving_high_ns == pytest.approx(0.5 * 1.2 * 9 * MS, rel=0.06)
    assert finding.message.startswith(
        "On GPU 0, 1 other process computes for 50% of the time by the driver's count and holds 8.0 GB while the steps run: kernels take turns with it"
    )


def test_few_looks_at_the_card_leave_more_open():
    # 50 samples are 100 looks: a standard error of 5 %
    (finding,) = _outcome(_card(samples=50)).findings
    assert finding.step_saving_ns == pytest.approx(9 * 0.55 * MS, rel=0.02)
    assert finding.step_saving_low_ns == pytest.approx((0.5 - 0.064 - 0.1) * 10 * MS, rel=0.06)


def test_one_of_two_gets_no_less_than_every_second_turn():
    half, more = (_outcome(_card(percent=percent)).findings[0] for percent in (50.0, 80.0))
    assert more.step_saving_ns == half.step_saving_ns
    (three,) = _outcome(_card(percent=80.0, count=3)).findings
    assert three.step_saving_ns == pytest.approx(9 * 0.75 * 1.1 * MS, rel=0.02)


def test_a_small_share_is_a_small_saving():
    (finding,) = _outcome(_card(percent=10.0)).findings
    assert finding.step_saving_ns == pytest.approx(9 * 0.11 * MS, rel=0.02)


def test_in_the_time_that_this_run_leaves_they_may_cost_nothing():
    (finding,) = _outcome(_card(percent=40.0), line=_busy(5_000)).findings
    assert finding.step_saving_low_ns == 0.0
    assert finding.step_saving_ns == pytest.approx(5 * 0.44 * MS, rel=0.02)


def test_steps_between_its_turns_show_what_is_left_without_it():
    # eight steps of 9 ms and two of 18: 10.8 on average, 9 when it pauses
    steps = step_times(
        *(timed(number, number, number + length * MS, profiled=False) for number, length in enumerate([9] * 8 + [18] * 2))
    )
    (finding,) = _outcome(_card(), baseline_step_ms=10.8, step_time=_with_profiled(steps)).findings
    assert finding.step_saving_ns == pytest.approx(1.8 * MS)
    assert finding.step_saving_high_ns == pytest.approx(1.8 * MS)
    assert finding.message.endswith("give back 1.8 ms (17%) of every step, to 9 ms when it pauses.")


def test_memory_alone_is_a_note():
    (note,) = _outcome(_card(count=2, percent=0.0)).findings
    assert (note.kind, note.severity.value) == ("note", "low")
    assert (
        note.message == "On GPU 0, 2 other processes hold 8.0 GB while the steps run: the run has that much less of its memory."
    )


def test_another_card_s_processes_are_a_note():
    (note,) = _outcome(_card(uuid="GPU-b")).findings
    assert (note.kind, note.severity.value) == ("note", "high")
    assert note.message.startswith("On GPU-b, 1 other process computes for 50% of the time by the driver's count")


def test_where_the_driver_does_not_count_by_process_their_presence_is_said():
    (note,) = _outcome(_card(percent=None)).findings
    assert note.kind == "note"
    assert "1 other process holds 8.0 GB" in note.message
    assert _outcome(_card(percent=None, held=None)).findings == ()


@pytest.mark.parametrize("card", [_card(count=0, percent=0.0, held=0), _card(percent=1.0, held=1_000_000)])
def test_nobody_or_next_to_nothing_is_nothing(card):
    assert _outcome(card).findings == ()


def test_a_run_without_a_trace_has_a_note():
    sources = {"device_state": frame(COLUMNS, _card()), "manifest": MANIFEST}
    (note,) = Workspace(sources).outcome(*engine.detectors()[ID]).findings
    assert note.kind == "note"


def test_unknown_is_said():
    outcome = _outcome(_card(count=None, percent=None, held=None))
    assert (outcome.state, outcome.reason) == (
        "skipped",
        "which processes use the GPU was not sampled, or the driver does not tell",
    )


@pytest.mark.parametrize("percent", [-50.0, 1e300, float("nan")])
def test_values_that_no_driver_gives_do_no_harm(percent):
    outcome = _outcome(_card(percent=percent))
    assert outcome.state in ("found", "clear")
    assert all(0 <= (finding.step_saving_ns or 0) <= 10 * MS for finding in outcome.findings)
