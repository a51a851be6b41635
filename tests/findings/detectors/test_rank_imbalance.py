"""Ranks with unequal amounts of work."""

from __future__ import annotations

import pytest

from analyze.analyses.kernel_pace import COLUMNS as PACE
from analyze.analyses.rank_state import COLUMNS as STATE
from analyze.analyses.shaped_work import COLUMNS as WORK
from tests.builders import frame
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import RANK, training

USUAL, MORE = {"compute": 800.0, "host": 100.0}, {"compute": 1_200.0, "host": 100.0}


def _states(*clocks):
    return frame((*STATE, RANK), *({"rank": rank, "sm_clock_mhz": clock} for rank, clock in enumerate(clocks)))


def _pace(*rows):
    return frame(
        (*PACE, RANK),
        *(
            {"rank": rank, "name": "mm", "kind": "gemm", "count_per_step": count, "mean_ns": mean, "ns_per_step": count * mean}
            for rank, (count, mean) in enumerate(rows)
        ),
    )


def _shapes(*flops):
    """Kernels alike on all ranks, and what the operators' shapes hold."""
    rows = ({"rank": rank, "flops_per_step": each, "bytes_per_step": 1.0} for rank, each in enumerate(flops))
    return {"kernel_pace": _pace(*[(10.0, 80.0)] * len(flops)), "shaped_work": frame((*WORK, RANK), *rows)}


#: half again the work, in steps that another process disturbs too much for times alone to tell
DISTURBED = [{"compute": compute, "host": 100.0} for compute in (850.0, 1_700.0, 900.0, 1_900.0, 1_000.0)]


def test_the_fullest_rank_is_named_and_the_work_spread():
    (finding,) = findings(training({0: [USUAL] * 5, 1: [USUAL] * 5, 2: [USUAL] * 5, 3: [MORE] * 5}), "rank-imbalance")
    assert (finding.rank, finding.basis) == (3, "replayed")
    # 1300 now, 1000 when each computes 900
    assert finding.step_saving_ns == pytest.approx(300_000)
    assert "Rank 3 computes 1.2 ms a step where the others compute 0.8" in finding.message


@pytest.mark.parametrize(
    ("slow", "why"), [((15.0, 80.0), "with 50% more kernels"), ((10.0, 120.0), "the same kernels taking 50% longer")]
)
def test_kernels_tell_more_work_from_larger(slow: tuple[float, float], why: str):
    more = {"kernel_pace": _pace((10.0, 80.0), (10.0, 80.0), slow)}
    (finding,) = findings(training({0: [USUAL] * 5, 1: [USUAL] * 5, 2: [MORE] * 5}, more=more), "rank-imbalance")
    assert why in finding.message


def test_more_work_by_shapes_needs_no_steady_steps():
    parts = {0: [USUAL] * 5, 1: [USUAL] * 5, 2: [USUAL] * 5, 3: DISTURBED}
    assert findings(training(parts), "rank-imbalance") == ()
    (finding,) = findings(training(parts, more=_shapes(100.0, 100.0, 100.0, 150.0)), "rank-imbalance")
    assert finding.rank == 3
    assert "with 1.5 times the work by its operators' shapes" in finding.message
    assert finding.caveat is None


def test_equal_work_by_shapes_is_no_imbalance_however_long_it_takes():
    parts = {0: [USUAL] * 5, 1: [USUAL] * 5, 2: [MORE] * 5}
    assert findings(training(parts, more=_shapes(100.0, 100.0, 102.0)), "rank-imbalance") == ()


def test_shapes_of_one_step_say_nothing_about_ranks_that_take_turns():
    turns = {rank: [MORE if step % 3 == rank else USUAL for step in range(6)] for rank in range(3)}
    assert findings(training(turns, more=_shapes(150.0, 100.0, 100.0)), "rank-imbalance") == ()


#: the same times on one device: 400 µs of kernels by themselves, and 600
SHARING = {0: [{"compute": 800.0}] * 5, 1: [{"compute": 1_000.0}] * 5}


def test_ranks_that_share_a_device_gain_nothing():
    together = training(SHARING, devices={0: "GPU-a", 1: "GPU-a"}, more=_shapes(100.0, 150.0))
    (note,) = findings(together, "rank-imbalance")
    assert (note.kind, note.rank, note.step_saving_ns) == ("note", 1, None)
    assert "kernels take 0.56 ms a step by themselves where the others' take 0.36, with 1.5 times the work" in note.message
    assert "evening it out would give back nothing" in note.message


def test_ranks_with_devices_of_their_own_gain_what_is_said():
    together = training(SHARING, devices={0: "GPU-a", 1: "GPU-b"}, more=_shapes(100.0, 150.0))
    (finding,) = findings(together, "rank-imbalance")
    # 1010 now, 910 when each computes 900
    assert (finding.kind, finding.step_saving_ns) == ("saving", pytest.approx(100_000))


def test_ranks_that_take_turns_are_found_on_devices():
    turns = {rank: [MORE if step % 3 == rank else USUAL for step in range(6)] for rank in range(3)}
    (finding,) = findings(training(turns, more={"rank_state": _states(1.0, 1.0, 1.0)}), "rank-imbalance")
    assert finding.rank is None
    assert finding.location == "every rank in turn"
    assert finding.step_saving_ns == pytest.approx(266_667, rel=1e-3)


def test_on_the_host_taking_turns_is_noise():
    turns = {rank: [MORE if step % 3 == rank else USUAL for step in range(6)] for rank in range(3)}
    assert findings(training(turns), "rank-imbalance") == ()


def test_a_slow_clock_is_not_more_work():
    more = {"rank_state": _states(1_400.0, 1_400.0, 900.0)}
    assert findings(training({0: [USUAL] * 5, 1: [USUAL] * 5, 2: [MORE] * 5}, more=more), "rank-imbalance") == ()


def test_equal_work_is_balanced():
    assert findings(training({0: [USUAL] * 5, 1: [USUAL] * 5}), "rank-imbalance") == ()


def test_a_late_host_is_not_more_work():
    assert findings(training({0: [USUAL] * 5, 1: [USUAL | {"host": 700.0}] * 5}), "rank-imbalance") == ()


def test_one_rank_is_skipped():
    assert outcome(None, "rank-imbalance").state == "skipped"
