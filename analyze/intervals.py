"""Interval algebra, vectorised: the one place where spans are united, subtracted and intersected.

An interval set is a pair of int64 arrays (starts, ends), half-open, in nanoseconds. Functions that return a set return it
merged: sorted, disjoint, without empty spans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64]
    Floats: TypeAlias = NDArray[np.float64]
    Spans: TypeAlias = tuple[Ints, Ints]


def _as_ints(values: object) -> Ints:
    return np.asarray(values, dtype=np.int64)


def merge(starts: object, ends: object) -> Spans:
    """Unite spans; touching spans become one, empty and inverted ones vanish."""
    begin, finish = _as_ints(starts), _as_ints(ends)
    keep = finish > begin
    begin, finish = begin[keep], finish[keep]
    if begin.size == 0:
        return begin, finish
    order = np.argsort(begin, kind="stable")
    begin, finish = begin[order], np.maximum.accumulate(finish[order])
    first = np.empty(begin.size, dtype=bool)
    first[0] = True
    np.greater(begin[1:], finish[:-1], out=first[1:])
    index = np.flatnonzero(first)
    return begin[index], finish[np.append(index[1:] - 1, begin.size - 1)]


def of_frame(frame: pl.DataFrame) -> Spans:
    """The union of a frame's spans, from its start_ns and dur_ns columns."""
    start = frame["start_ns"].to_numpy()
    return merge(start, start + frame["dur_ns"].fill_null(0).to_numpy())


def total(spans: Spans) -> int:
    """Summed length of a merged set."""
    return int((spans[1] - spans[0]).sum())


def union(*sets: Spans) -> Spans:
    """Everything covered by any of the sets."""
    return merge(np.concatenate([s[0] for s in sets]), np.concatenate([s[1] for s in sets])) if sets else merge([], [])


def intersect(left: Spans, right: Spans) -> Spans:
    """Everything covered by both merged sets."""
    edges = np.concatenate([left[0], left[1], right[0], right[1]])
    change = np.concatenate([np.ones(left[0].size), -np.ones(left[0].size), np.ones(right[0].size), -np.ones(right[0].size)])
    order = np.lexsort((change, edges))
    edges, depth = edges[order], np.cumsum(change[order])
    if edges.size == 0:
        return merge([], [])
    both = np.flatnonzero(depth[:-1] >= 2)  # noqa: PLR2004 - covered by both sets
    return merge(edges[both], edges[both + 1])


def clip(spans: Spans, start: int, end: int) -> Spans:
    """The part of a set within [start, end)."""
    return merge(np.clip(spans[0], start, end), np.clip(spans[1], start, end))


def gaps(spans: Spans, start: int, end: int) -> Spans:
    """What a merged set leaves uncovered within [start, end)."""
    inside = clip(spans, start, end)
    return merge(np.concatenate([_as_ints([start]), inside[1]]), np.concatenate([inside[0], _as_ints([end])]))


def subtract(left: Spans, right: Spans) -> Spans:
    """Everything in left that right does not cover."""
    if left[0].size == 0:
        return left
    return intersect(left, gaps(right, int(left[0][0]), int(left[1][-1])))


def covered_per_window(spans: Spans, starts: object, ends: object) -> Ints:
    """Covered length of a merged set within each window [start, end); windows may overlap."""
    begin, finish = _as_ints(starts), _as_ints(ends)
    if spans[0].size == 0:
        return np.zeros(begin.size, dtype=np.int64)
    before = np.concatenate([_as_ints([0]), np.cumsum(spans[1] - spans[0])])

    def covered_until(time: Ints) -> Ints:
        index = np.searchsorted(spans[0], time, side="right")
        last = np.maximum(index - 1, 0)
        over = np.where(index > 0, np.maximum(spans[1][last] - time, 0), 0)
        return before[index] - over

    return covered_until(np.maximum(finish, begin)) - covered_until(begin)


def equal_shares(starts: object, ends: object) -> tuple[Floats, Floats]:
    """Of each span the length that no other covers, and its share of the rest: every instant divided by how many cover it.

    Both together add up over all spans to the length of their union.
    """
    start, end = _as_ints(starts), _as_ints(ends)
    edges = np.unique(np.concatenate([start, end]))
    opened = np.searchsorted(np.sort(start), edges[:-1], side="right") - np.searchsorted(np.sort(end), edges[:-1], side="right")
    length, covering = np.diff(edges), np.maximum(opened, 1)

    def within(part: Floats) -> Floats:
        until = np.concatenate([[0.0], np.cumsum(part)])
        found: Floats = until[np.searchsorted(edges, end)] - until[np.searchsorted(edges, start)]
        return found

    return within(np.where(covering == 1, length, 0.0)), within(np.where(covering > 1, length / covering, 0.0))


def busy_ns(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Union length of start_ns/dur_ns spans per group: columns of `by`, busy_ns."""
    return (
        frame.drop_nulls("dur_ns")
        .filter(pl.col("dur_ns") > 0)
        .sort("start_ns")
        .with_columns(end=pl.col("start_ns") + pl.col("dur_ns"))
        .with_columns(covered=pl.col("end").cum_max().shift(1).over(by))
        .with_columns(from_=pl.max_horizontal("start_ns", "covered"))
        .group_by(by, maintain_order=True)
        .agg(busy_ns=(pl.col("end") - pl.col("from_")).clip(lower_bound=0).sum())
    )
