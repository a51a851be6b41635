"""How much of its kernels' time a rank had its device to itself."""

from __future__ import annotations

import pytest

from analyze.analyses.across_ranks.device_turns import device_turns
from analyze.analyses.across_ranks.rank_clocks import COLUMNS as CLOCKS
from analyze.analyses.device_spans import COLUMNS as SPANS
from analyze.errors import MissingData
from tests.builders import frame
from tests.rank_sets import RANK


def _spans(*rows):
    return frame(
        (*SPANS, RANK),
        *({"rank": rank, "device_uuid": uuid, "start_ns": start, "dur_ns": end - start} for rank, uuid, start, end in rows),
    )


def _clocks(*offsets):
    return frame(
        CLOCKS, *({"rank": rank, "offset_ns": offset, "drift_ppm": 0.0, "from_ns": 0} for rank, offset in enumerate(offsets))
    )


def test_overlapping_spans_are_shares_and_the_rest_is_alone():
    spans = _spans((0, "a", 0, 100), (1, "a", 60, 200), (2, "a", 80, 90))
    found = device_turns(spans, _clocks(0, 0, 0)).select("rank", "start_ns", "dur_ns", "alone_ns", "shares_ns").rows()
    # 60..80 two, 80..90 three, 90..100 two
    thirds = 10 / 3
    assert found == [
        (0, 0, 100, 60.0, pytest.approx(10 + thirds + 5)),
        (1, 60, 140, 100.0, pytest.approx(10 + thirds + 5)),
        (2, 80, 10, 0.0, pytest.approx(thirds)),
    ]


def test_spans_are_compared_on_one_clock_and_told_by_their_own():
    found = device_turns(_spans((0, "a", 1_000, 1_100), (1, "a", 5_000, 5_100)), _clocks(0, 3_950))
    assert found.select("start_ns", "alone_ns", "shares_ns").rows() == [(1_000, 50.0, 25.0), (5_000, 50.0, 25.0)]


def test_a_rank_with_a_device_of_its_own_has_it_to_itself():
    found = device_turns(_spans((0, "a", 0, 100), (1, "a", 0, 100), (2, "b", 0, 100)), _clocks(0, 0, 0))
    assert found.select("rank", "alone_ns", "shares_ns").rows() == [(0, 0.0, 50.0), (1, 0.0, 50.0), (2, 100.0, 0.0)]


def test_what_the_device_did_is_all_of_it():
    spans = _spans(*((rank, "a", 37 * rank + 100 * turn, 37 * rank + 100 * turn + 90) for rank in range(3) for turn in range(4)))
    found = device_turns(spans, _clocks(0, 0, 0))
    # the union of all spans: from 0 to 100 * 3 + 37 * 2 + 90, without gaps
    assert found.select(found["alone_ns"] + found["shares_ns"]).sum().item() == pytest.approx(464)


def test_where_every_rank_has_its_own_there_are_no_turns():
    with pytest.raises(MissingData, match="device of its own"):
        device_turns(_spans((0, "a", 0, 100), (1, "b", 0, 100)), _clocks(0, 0))
