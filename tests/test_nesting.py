from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze.nesting import innermost, nest


def nested(*rows):
    """Nest (lane, start, end) rows."""
    lane, start, end = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return nest(lane, start, end - start)


def parents(*rows):
    return nested(*rows).parent.tolist()


def test_children_of_children():
    assert parents((0, 0, 100), (0, 10, 50), (0, 20, 30), (0, 60, 90)) == [-1, 0, 1, 0]


def test_lanes_do_not_mix():
    assert parents((0, 0, 100), (1, 10, 50)) == [-1, -1]


def test_order_of_rows_does_not_matter():
    assert parents((0, 20, 30), (0, 0, 100), (0, 10, 50)) == [2, -1, 1]


def test_a_child_that_ends_a_nanosecond_late_stays_a_child():
    """Writers round start and duration apart: parent [1000000, 1500000), child ends at 1500001."""
    assert parents((0, 1_000_000, 1_500_000), (0, 1_200_100, 1_500_001)) == [-1, 0]


def test_after_a_late_child_its_uncle_is_no_descendant():
    assert parents((0, 0, 100), (0, 50, 101), (0, 101, 200)) == [-1, 0, -1]


def test_a_sibling_that_starts_while_a_late_child_still_runs_goes_to_the_level_it_belongs_to():
    """[100, 200) starts when [0, 100) is over: it is no child of it, whatever the late child [50, 101) says."""
    found = nested((0, 0, 100), (0, 50, 101), (0, 100, 200), (0, 120, 130))
    assert found.parent.tolist()[2] != 0
    assert found.parent.tolist()[3] == 2


def test_spans_that_start_together_nest_by_length():
    assert parents((0, 0, 10), (0, 0, 100), (0, 0, 50)) == [2, -1, 1]


def test_spans_that_touch_are_siblings():
    assert parents((0, 0, 100), (0, 0, 50), (0, 50, 100)) == [-1, 0, 0]


def test_an_empty_span_is_a_child_and_has_none():
    assert parents((0, 0, 100), (0, 50, 50), (0, 60, 70)) == [-1, 0, 0]


def test_no_spans():
    empty = np.empty(0, dtype=np.int64)
    assert nest(empty, empty, empty).parent.tolist() == []


def test_innermost_finds_the_deepest_open_span():
    found = nested((0, 0, 100), (0, 10, 50), (0, 20, 30), (1, 0, 1000))
    lane = np.array([0, 0, 0, 0, 0, 1, -1, 2], dtype=np.int64)
    time = np.array([25, 30, 49, 50, 100, 100, 25, 25], dtype=np.int64)
    assert innermost(found, lane, time).tolist() == [2, 1, 1, 0, -1, 3, -1, -1]


def test_innermost_outside_the_recorded_range_finds_nothing():
    found = nested((0, 10, 20), (1, 10, 20))
    lane = np.array([0, 0, 1, 1], dtype=np.int64)
    assert innermost(found, lane, np.array([9, 500, -500, 9], dtype=np.int64)).tolist() == [-1] * 4


@st.composite
def trees(draw):
    """Properly nested spans, as a list of (start, end, parent index)."""
    rows = [(0, draw(st.integers(20, 200)), -1)]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.integers(0, len(rows) - 1))
        taken = max([end for _, end, owner in rows if owner == parent], default=rows[parent][0])
        start = draw(st.integers(taken, max(taken, rows[parent][1] - 1)))
        end = draw(st.integers(start + 1, max(start + 1, rows[parent][1])))
        # a span that fills its parent cannot be told from it
        if end <= rows[parent][1] and (start, end) != rows[parent][:2]:
            rows.append((start, end, parent))
    return rows


@settings(max_examples=60, deadline=None)
@given(trees())
def test_properly_nested_spans_come_back_as_they_were_drawn(rows):
    found = parents(*[(0, start, end) for start, end, _ in rows])
    assert found == [parent for *_, parent in rows]
