"""Ranks by steps, over the steps that all have."""

from __future__ import annotations

from analyze.analyses.across_ranks.rank_steps import rank_steps
from tests.rank_sets import own


def test_steps_that_some_rank_lacks_are_left_out():
    frame = rank_steps(own(*({"rank": r, "step": s, "own_ns": 10 * r} for r, s in ((0, 5), (0, 6), (1, 6), (1, 7)))))
    assert frame.select("step", "rank", "own_ns", "behind_ns").rows() == [(6, 0, 0, -5.0), (6, 1, 10, 5.0)]
