"""Two ranks that took turns on one H200, one with half as much work again: what was measured is what is said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyze import diagnose

if TYPE_CHECKING:
    from analyze.findings.model import Report

RUN = Path(__file__).parents[2] / "sample_traces" / "faults" / "ranks_on_one_gpu"
#: mean unprofiled steps of the runs beside it: the same work evenly spread
EVENLY_SPREAD_MS = 77.83


@pytest.fixture(scope="module")
def report() -> Report:
    return diagnose(str(RUN), cache=False)


def test_that_they_share_it_is_the_first_note_and_uneven_work_gives_back_nothing(report: Report):
    assert [note.detector for note in report.notes[:1]] == ["shared-device"]
    (uneven,) = [note for note in report.notes if note.detector == "rank-imbalance"]
    assert (uneven.rank, uneven.step_saving_ns) == (1, None)
    assert report.summary.step_time.mean_ns / 1e6 == pytest.approx(EVENLY_SPREAD_MS, rel=0.01)


def test_nobody_is_blamed_for_time(report: Report):
    assert {"rank-imbalance", "straggler-rank", "sync-in-step", "device-to-host-copy"}.isdisjoint(
        f.detector for f in report.findings
    )


def test_by_themselves_kernels_take_what_their_work_says(report: Report):
    (shared,) = [note for note in report.notes if note.detector == "shared-device"]
    alone = dict(shared.evidence.select("rank", "kernels_alone_ms").rows())
    assert alone[1] / alone[0] == pytest.approx(1.5, rel=0.05)
    told = re.search(r"about ([\d.]+) ms instead of ([\d.]+)", shared.message)
    assert told is not None
    # the fuller rank's kernels, and the few ms a step beside them
    assert alone[1] < float(told.group(1)) < alone[1] + 10


def test_the_device_is_not_said_to_have_more_time_than_it_has(report: Report):
    summary = report.summary
    shared = sum(note.evidence["kernels_alone_ms"].sum() for note in report.notes if note.detector == "shared-device")
    assert summary.floor_ns is not None
    assert summary.after_all_fixes_ns is not None
    assert shared < summary.floor_ns / 1e6 <= summary.after_all_fixes_ns / 1e6 <= summary.step_time.mean_ns / 1e6


def test_it_is_said_that_times_hold_the_others_turns(report: Report):
    row = report.data_quality.filter(report.data_quality["cause"] == "shared-device").row(0, named=True)
    assert row["count"] == 2
    assert row["detail"] == "ranks 0, 1 share a device: times of their kernels hold the turns that others took"


def test_the_replay_gives_back_the_recorded_step(report: Report):
    # what blocked a rank and what it did itself make the step, on both
    steps = report.table("rank_steps")
    assert (steps["own_ns"] + steps["blocked_ns"]).to_list() == steps["step_ns"].to_list()
    waited = dict(steps.group_by("rank").mean().select("rank", "blocked_ns").rows())
    # the rank with less work waits for the other
    assert waited[0] > 5 * waited[1]
