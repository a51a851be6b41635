"""The wait that comes from starting to record is set aside and said."""

from __future__ import annotations

from tests.findings.rank_findings import findings
from tests.rank_sets import training

STEPS = [{"compute": 1_000.0}] * 4


def test_a_late_start_is_a_note_that_blames_nobody():
    (finding,) = findings(training({0: STEPS, 1: STEPS, 2: STEPS}, begin={1: 20_000.0}), "profiler-start-skew")
    assert finding.kind == "note"
    assert "wait up to 20 ms for rank 1" in finding.message


def test_ranks_that_began_together_need_no_note():
    assert findings(training({0: STEPS, 1: STEPS}, begin={1: 500.0}), "profiler-start-skew") == ()


def test_a_rank_that_is_always_late_needs_none_either():
    assert findings(training({0: STEPS, 1: [{"compute": 30_000.0}] * 4}), "profiler-start-skew") == ()
