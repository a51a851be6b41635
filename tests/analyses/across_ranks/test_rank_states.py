"""Devices of the ranks beside one another."""

from __future__ import annotations

from analyze.analyses.across_ranks.rank_states import rank_states
from analyze.analyses.rank_state import COLUMNS
from tests.builders import frame
from tests.rank_sets import RANK


def test_ratios_are_to_the_median_and_unknown_stays_unknown():
    rows = [{"rank": rank, "peak_bytes": peak} for rank, peak in ((1, 10), (0, 20), (2, 10))]
    found = rank_states(frame((*COLUMNS, RANK), *rows))
    assert found.select("rank", "memory_ratio", "clock_ratio").rows() == [(0, 2.0, None), (1, 1.0, None), (2, 1.0, None)]
