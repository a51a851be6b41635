"""Calls are the same collective by group, kind, step and order; by size where counts differ."""

from __future__ import annotations

import pytest

from analyze.analyses.across_ranks.matched_collectives import matched_collectives
from analyze.errors import MissingData
from tests.rank_sets import calls, own

BOTH = own({"rank": 0, "step": 5}, {"rank": 1, "step": 5})


def _pairs(frame):
    """Ids that were matched, by collective."""
    return sorted(frame.group_by("match").agg("rank", "start_ns").select("rank", "start_ns").rows())


def _call(rank, start, **more):
    return {"rank": rank, "step": 5, "start_ns": start, "dur_ns": 10, **more}


def test_the_nth_call_of_a_kind_is_the_nth_everywhere():
    found = matched_collectives(
        calls(_call(0, 0), _call(0, 20, turn=1), _call(1, 5), _call(1, 25, turn=1), _call(0, 40, kind="broadcast")), BOTH
    )
    assert _pairs(found) == [([0, 1], [0, 5]), ([0, 1], [20, 25])]


def test_what_one_rank_lacks_is_told_by_size():
    first, second, third = 1 << 10, 1 << 20, 1 << 24
    found = matched_collectives(
        calls(
            *(_call(0, 20 * n, turn=n, bytes=size) for n, size in enumerate((first, second, third))),
            _call(1, 0, bytes=first), _call(1, 40, turn=1, bytes=third),
        ),
        BOTH,
    )  # fmt: skip
    assert _pairs(found) == [([0, 1], [0, 0]), ([0, 1], [40, 40])]


def test_unequal_counts_without_sizes_are_not_guessed():
    rows = calls(_call(0, 0, bytes=None), _call(0, 20, turn=1, bytes=None), _call(1, 0, bytes=None))
    with pytest.raises(MissingData, match="no collective in common"):
        matched_collectives(rows, BOTH)


def test_all_reduces_of_different_size_are_two_calls():
    with pytest.raises(MissingData):
        matched_collectives(calls(_call(0, 0, bytes=8), _call(1, 0, bytes=16)), BOTH)


def test_an_all_to_all_may_be_uneven():
    found = matched_collectives(calls(_call(0, 0, bytes=8, kind="all-to-all"), _call(1, 0, bytes=16, kind="all-to-all")), BOTH)
    assert found.height == 2


def test_groups_of_the_same_name_are_told_apart_by_their_members():
    members = ["[0, 1]", "[0, 1]", "[2, 3]", "[2, 3]"]
    steps = own(*({"rank": rank, "step": 5} for rank in range(4)))
    found = matched_collectives(calls(*(_call(rank, rank, group="1", members=members[rank]) for rank in range(4))), steps)
    assert found.group_by("match").agg("rank").sort("match")["rank"].to_list() == [[0, 1], [2, 3]]


def test_ranks_that_recorded_different_steps_compare_those_they_share():
    steps = own(*({"rank": rank, "step": step} for rank, first in ((0, 5), (1, 6)) for step in range(first, first + 5)))
    rows = calls(*(_call(rank, 100 * step, step=step) for rank, first in ((0, 5), (1, 6)) for step in range(first, first + 5)))
    assert matched_collectives(rows, steps)["step"].unique().sort().to_list() == [6, 7, 8, 9]


def test_no_common_step_is_said():
    with pytest.raises(MissingData, match="no step in common"):
        matched_collectives(calls(_call(0, 0)), own({"rank": 0, "step": 5}, {"rank": 1, "step": 6}))


def test_a_send_meets_the_receive_that_ends_with_it():
    found = matched_collectives(
        calls(
            _call(0, 0, kind="send"), _call(1, 3, dur_ns=8, kind="receive"),
            _call(1, 5_000_000, kind="send", turn=1), _call(0, 5_000_001, kind="receive", turn=1),
            _call(0, 60_000_000, kind="send", turn=2),
        ),
        BOTH,
    )  # fmt: skip
    assert _pairs(found) == [([0, 1], [0, 3]), ([0, 1], [5_000_001, 5_000_000])]
