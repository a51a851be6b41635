"""Our figures on public recordings against those that HTA 0.5.0 gives, with and without its rules."""

from __future__ import annotations

import pytest

from analyze.crosscheck.our_figures import our_figures
from analyze.crosscheck.their_rules import rules
from analyze.crosscheck.view import view_of
from analyze.engine import Workspace
from tests.crosscheck.recordings import trace


def figures(name, *, theirs):
    """Values by question and name: ours, or by all of HTA's rules."""
    found = trace(name)
    workspace = Workspace({**found.frames, "trace_info": found.info, "data_quality": found.data_quality})
    view = view_of(workspace)
    for rule in rules(view, workspace) if theirs else ():
        applied = rule(view)
        view = view if applied is None else applied.view
    return {(figure.question, figure.name): figure.value for figure in our_figures(view)}


def temporal(values):
    return [values["temporal breakdown", f"{part}_time"] for part in ("idle", "compute", "non_compute", "kernel")]


def test_unrounded_times_of_nccl_data():
    ours = figures("nccl_data", theirs=False)
    assert temporal(ours)[:2] == pytest.approx([336_419.7, 76_935.8], abs=0.1)
    assert ours["communication overlap", "hidden"] == pytest.approx(14.76, abs=0.005)


def test_nccl_data_by_hta_s_rules():
    theirs = figures("nccl_data", theirs=True)
    assert temporal(theirs) == [338_781, 75_169, 21_636, 435_586]
    assert theirs["communication overlap", "hidden"] == pytest.approx(14.31, abs=0.005)
    types = {name: us for (question, name), us in theirs.items() if question == "kernel types"}
    assert types == {
        "compute": 71_696,
        "communication": 20_621,
        "compute+communication": 3_473,
        "copy": 831,
        "communication+copy": 184,
    }
    idle = [theirs["idle by stream", name] for name in ("stream 7 host_wait", "stream 7 kernel_wait", "stream 40 host_wait")]
    assert idle == [357_247, 2_155, 381_499]
    assert [theirs["launches", name] for name in ("count", "calls", "work", "delay")] == [2_516, 21_289, 100_462, 70_623]
    queue = [theirs["queue length", f"stream {stream} {what}"] for stream in (7, 40) for what in ("changes", "longest")]
    assert queue == [5_004, 10, 28, 1]
    assert theirs["queue length", "stream 40 mean"] == 0.5


def test_whole_microseconds_need_no_rules():
    ours = figures("trace_filter", theirs=False)
    assert temporal(ours) == [328_671, 135_548, 136_455, 600_674]
    assert ours["communication overlap", "hidden"] == pytest.approx(20.05, abs=0.005)


def test_synchronisation_records_shift_hta_s_span_and_idle_time_of_alexnet():
    assert temporal(figures("alexnet", theirs=False))[3] == 12_920_244
    theirs = figures("alexnet", theirs=True)
    assert temporal(theirs) == [12_929_684, 10_637, 55_690, 12_996_011]
    # the trace's durations are whole microseconds, HTA takes the rates written beside them
    assert theirs["copy bandwidth", "Memcpy HtoD"] == pytest.approx(4.1089, rel=0.1)


def test_an_mi250():
    theirs = figures("mi250", theirs=True)
    assert temporal(theirs) == [8_780, 96, 35, 8_911]
    assert theirs["launches", "count"] == 0, "HTA knows none of HIP's launches"
    assert figures("mi250", theirs=False)["launches", "count"] == 16
