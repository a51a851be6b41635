"""Communication that nothing hides: transfer and waiting apart where all ranks are known, bounded where one is."""

from __future__ import annotations

import pytest

from analyze.analyses.collective_calls import COLUMNS as CALLS
from tests.builders import frame, step_times, timed
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import training

US = 1_000
EQUAL = {"compute": 800.0}


def _own(*durations, blocked=None, size=1 << 20):
    rows = [
        {"step": 0, "kind": "all-reduce", "turn": turn, "bytes": size, "start_ns": turn, "dur_ns": dur * US,
         "blocked_ns": (dur if blocked is None else blocked) * US}
        for turn, dur in enumerate(durations)
    ]  # fmt: skip
    return frame(CALLS, *rows)


def test_of_all_ranks_the_transfer_is_halved():
    together = training({0: [EQUAL] * 4, 1: [EQUAL] * 4}, transfer=200.0)
    (finding,) = findings(together, "exposed-communication", collective_calls=together.frame("collective_calls"))
    assert finding.basis == "modelled"
    assert finding.step_saving_ns == pytest.approx(100 * US)
    assert finding.step_saving_high_ns == pytest.approx(220 * US)
    assert "0.2 ms transfer" in finding.message


def test_waiting_is_not_sold_as_transfer():
    together = training({0: [EQUAL] * 4, 1: [{"compute": 1_800.0}] * 4}, transfer=200.0)
    (finding,) = findings(together, "exposed-communication", collective_calls=together.frame("collective_calls"))
    assert "most of it waiting" in finding.message
    assert finding.step_saving_ns == pytest.approx(100 * US)


def test_one_rank_bounds_transfer_by_its_fastest_call():
    steps = step_times(timed(0, 0, 1_000 * US))
    (finding,) = findings(None, "exposed-communication", collective_calls=_own(50, 50, 250), step_time=steps)
    # three calls of 50 at most are transfer; the other 200 are not explained by one rank
    assert "0.15 ms at most are transfer" in finding.message
    assert "0.2 ms waiting or contention (send the other ranks" in finding.message
    assert finding.step_saving_ns == 75 * US
    assert finding.step_saving_high_ns == 150 * US


def test_hidden_communication_is_fine():
    assert findings(None, "exposed-communication", collective_calls=_own(50, 50, blocked=0)) == ()


def test_a_run_without_collectives_is_skipped():
    assert outcome(None, "exposed-communication").state == "skipped"
