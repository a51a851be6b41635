from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyze import intervals
from tests.builders import span


def spans(*pairs):
    return intervals.merge([pair[0] for pair in pairs], [pair[1] for pair in pairs])


def pairs(found):
    return list(zip(found[0].tolist(), found[1].tolist(), strict=True))


def test_merge_unites_overlapping_and_touching_spans_and_drops_empty_ones():
    assert pairs(spans((5, 9), (0, 3), (3, 4), (6, 7), (20, 20), (30, 29))) == [(0, 4), (5, 9)]


def test_merge_of_nothing_is_nothing():
    assert pairs(spans()) == []
    assert pairs(intervals.union()) == []


def test_a_span_inside_an_earlier_longer_one_does_not_shorten_it():
    assert pairs(spans((0, 100), (10, 20), (50, 60))) == [(0, 100)]


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ([(0, 10)], [(5, 15)], [(5, 10)]),
        ([(0, 10)], [(10, 20)], []),
        ([(0, 10), (20, 30)], [(5, 25)], [(5, 10), (20, 25)]),
        ([(0, 10)], [], []),
        ([], [], []),
        ([(0, 10), (10, 20)], [(0, 20)], [(0, 20)]),
    ],
)
def test_intersect(left, right, both):
    assert pairs(intervals.intersect(spans(*left), spans(*right))) == both
    assert pairs(intervals.intersect(spans(*right), spans(*left))) == both


@pytest.mark.parametrize(
    ("left", "right", "rest"),
    [
        ([(0, 10)], [(2, 4)], [(0, 2), (4, 10)]),
        ([(0, 10)], [(-5, 20)], []),
        ([(0, 10)], [], [(0, 10)]),
        ([], [(0, 10)], []),
        ([(0, 4), (6, 10)], [(3, 7)], [(0, 3), (7, 10)]),
    ],
)
def test_subtract(left, right, rest):
    assert pairs(intervals.subtract(spans(*left), spans(*right))) == rest


def test_gaps_include_the_lead_in_and_the_tail():
    assert pairs(intervals.gaps(spans((10, 20), (30, 40)), 0, 50)) == [(0, 10), (20, 30), (40, 50)]


def test_gaps_of_nothing_are_the_whole_window_and_of_an_empty_window_nothing():
    assert pairs(intervals.gaps(spans(), 0, 50)) == [(0, 50)]
    assert pairs(intervals.gaps(spans((0, 5)), 7, 7)) == []


def test_gaps_ignore_spans_outside_the_window():
    assert pairs(intervals.gaps(spans((-20, -10), (60, 70)), 0, 50)) == [(0, 50)]


def test_clip_cuts_at_both_ends():
    assert pairs(intervals.clip(spans((0, 10), (20, 30), (40, 50)), 5, 45)) == [(5, 10), (20, 30), (40, 45)]


def test_covered_per_window_counts_partly_covered_and_overlapping_windows():
    covered = intervals.covered_per_window(spans((0, 10), (20, 30)), [0, 5, 25, 12, -9], [10, 25, 100, 18, 40])
    assert covered.tolist() == [10, 10, 5, 0, 20]


def test_covered_per_window_of_no_spans_is_zero():
    assert intervals.covered_per_window(spans(), [0, 5], [10, 20]).tolist() == [0, 0]


def test_of_frame_leaves_out_events_that_never_ended():
    frame = pl.DataFrame([span(0, 10), {"start_ns": 50, "dur_ns": None}, span(5, 20)])
    assert pairs(intervals.of_frame(frame)) == [(0, 20)]


def test_busy_is_the_union_over_streams_not_the_sum_of_kernels():
    """Stream 7: [0,100], [150,250]; stream 20: [50,200]: 250 of 250, though the kernels add up to 350."""
    kernels = pl.DataFrame(
        [span(0, 100, device=0, stream=7), span(150, 250, device=0, stream=7), span(50, 200, device=0, stream=20)]
    )
    assert intervals.busy_ns(kernels, ["device"]).rows() == [(0, 250)]
    assert kernels["dur_ns"].sum() == 350


def test_the_same_spans_on_another_device_are_not_merged():
    kernels = pl.DataFrame([span(0, 100, device=0), span(50, 150, device=1), span(50, 120, device=0)])
    assert sorted(intervals.busy_ns(kernels, ["device"]).rows()) == [(0, 120), (1, 100)]


def test_busy_with_a_short_span_inside_a_long_one_of_the_same_group():
    kernels = pl.DataFrame([span(0, 100, device=0), span(10, 20, device=0), span(90, 130, device=0)])
    assert intervals.busy_ns(kernels, ["device"])["busy_ns"].to_list() == [130]


SETS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])), max_size=12)


def cells(found):
    """The covered unit cells, as a set: the definition that the fast code is held to."""
    return {cell for start, end in found for cell in range(start, end)}


@settings(max_examples=60, deadline=None)
@given(SETS, SETS)
def test_the_algebra_agrees_with_sets_of_unit_cells(left, right):
    a, b = spans(*left), spans(*right)
    assert intervals.total(a) == len(cells(left))
    assert cells(pairs(intervals.intersect(a, b))) == cells(left) & cells(right)
    assert cells(pairs(intervals.subtract(a, b))) == cells(left) - cells(right)
    assert cells(pairs(intervals.union(a, b))) == cells(left) | cells(right)
    assert cells(pairs(intervals.gaps(a, 3, 50))) == set(range(3, 50)) - cells(left)
    window = np.arange(0, 70, 7)
    expected = [len(cells(left) & set(range(start, start + 9))) for start in window.tolist()]
    assert intervals.covered_per_window(a, window, window + 9).tolist() == expected


def test_equal_shares_divide_every_instant_and_add_up_to_the_union():
    starts, ends = [0, 50, 60, 300], [100, 200, 70, 400]
    alone, shared = intervals.equal_shares(starts, ends)
    assert alone.tolist() == [50, 100, 0, 100]
    # from 50 to 60 two, to 70 three, to 100 two again
    assert shared.tolist() == pytest.approx([5 + 10 / 3 + 15, 5 + 10 / 3 + 15, 10 / 3, 0])
    assert (alone + shared).sum() == pytest.approx(intervals.total(intervals.merge(starts, ends)))
    assert [part.size for part in intervals.equal_shares([], [])] == [0, 0]
