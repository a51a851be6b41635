"""A rank that is late for another reason than more work."""

from __future__ import annotations

import pytest

from analyze.analyses.rank_state import COLUMNS as STATE
from tests.builders import frame
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import RANK, training

USUAL = {"compute": 800.0, "host": 100.0}


def _run(slow, count=6, **more):
    return training({0: [USUAL] * count, 1: [USUAL] * count, 2: [USUAL | slow] * count}, **more)


def _states(*clocks):
    return frame((*STATE, RANK), *({"rank": rank, "sm_clock_mhz": clock} for rank, clock in enumerate(clocks)))


@pytest.mark.parametrize(
    ("slow", "what"),
    [
        ({"input_wait": 500.0}, "waits for its input"),
        ({"host": 600.0}, "held up by its host"),
        ({"gc": 500.0}, "collects garbage"),
    ],
)
def test_the_late_rank_is_named_with_what_it_loses(slow: dict[str, float], what: str):
    (finding,) = findings(_run(slow), "straggler-rank")
    assert (finding.rank, finding.basis, finding.location) == (2, "replayed", "rank 2")
    assert what in finding.message
    # the others take 900 and the transfer 10
    assert finding.step_saving_ns == pytest.approx(500_000)
    assert finding.confidence == 0.95


def test_two_late_ranks_are_one_finding():
    late = USUAL | {"host": 600.0}
    (finding,) = findings(
        training({0: [USUAL] * 5, 1: [late] * 5, 2: [USUAL] * 5, 3: [late] * 5, 4: [USUAL] * 5}), "straggler-rank"
    )
    assert finding.location == "rank 1, rank 3"
    assert finding.step_saving_ns == pytest.approx(500_000)


def test_more_work_is_no_straggling():
    assert findings(_run({"compute": 1_300.0}), "straggler-rank") == ()


def test_unless_its_clock_is_slow():
    together = _run({"compute": 1_300.0}, more={"rank_state": _states(1_400.0, 1_400.0, 900.0)})
    (finding,) = findings(together, "straggler-rank")
    assert "slower clock" in finding.message


def test_a_balanced_run_blames_nobody():
    assert findings(_run({}), "straggler-rank") == ()


def test_one_step_is_said_to_be_one_step():
    (finding,) = findings(_run({"host": 900.0}, count=1), "straggler-rank")
    assert finding.caveat is not None
    assert finding.confidence < 0.75


def test_a_rank_that_began_to_record_late_is_not_blamed():
    assert findings(_run({}, begin={2: 50_000.0}), "straggler-rank") == ()


def test_one_rank_alone_says_what_to_send():
    assert outcome(None, "straggler-rank").reason == "one of 4 ranks was given: send the others' traces too"
