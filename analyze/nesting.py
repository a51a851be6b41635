"""Which span encloses which on a lane, and which span encloses a moment: all lanes at once.

Writers round start and duration separately, so a child may end a hair after its parent. It stays a child, and its
parent's end closes it: what follows is never counted as lying within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from analyze.intervals import Ints


@dataclass(frozen=True)
class Nesting:
    """Spans sorted by lane and start: row order, parent (row, -1 at the top), depth, and keys for lookups."""

    parent: Ints
    depth: Ints
    order: Ints
    start_key: Ints
    end_key: Ints
    origin: int
    stride: int


def nest(lane: Ints, start: Ints, dur: Ints) -> Nesting:
    """Nest spans given by lane code (0, 1, …), start and duration; indices refer to the input rows."""
    origin = int(start.min()) if start.size else 0
    stride = int((start + dur).max()) - origin + 2 if start.size else 1
    start_key = lane * stride + (start - origin)
    # an empty span still stands before what starts at the same moment
    end_key = start_key + np.maximum(dur, 1)
    order = np.lexsort((-dur, start_key))
    parent_sorted, depth_sorted = _open_spans(start_key[order], end_key[order])
    parent = np.full(order.size, -1, dtype=np.int64)
    has = parent_sorted >= 0
    parent[order[has]] = order[parent_sorted[has]]
    depth = np.empty_like(depth_sorted)
    depth[order] = depth_sorted
    return Nesting(parent, depth, order, start_key, end_key, origin, stride)


def _open_spans(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Parent (position, -1 at the top) and depth of spans sorted by start; a child is never open longer than its parent.

    Where spans nest, depth is a count of starts less ends. Where some do not, a stack decides, one span after the other.
    """
    depth = np.arange(start.size, dtype=np.int64) - np.searchsorted(np.sort(end), start, side="right")
    parent = _parents(depth, start, end)
    nests = (parent < 0) == (depth == 0)
    in_time = (parent < 0) | (end <= end[np.maximum(parent, 0)])
    if bool(np.all(nests & in_time)):
        return parent, depth
    return _by_stack(start.tolist(), end.tolist())


def _by_stack(starts: list[int], ends: list[int]) -> tuple[Ints, Ints]:
    parents, depths = [], []
    stack: list[int] = []
    stack_ends: list[int] = []
    for position, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while stack and stack_ends[-1] <= start:
            stack.pop()
            stack_ends.pop()
        parents.append(stack[-1] if stack else -1)
        depths.append(len(stack))
        stack_ends.append(min(end, stack_ends[-1]) if stack else end)
        stack.append(position)
    return np.array(parents, dtype=np.int64), np.array(depths, dtype=np.int64)


def _parents(depth: Ints, start: Ints, end: Ints) -> Ints:
    """Position of each span's parent: the latest earlier span one level up that is still open."""
    parent = np.full(depth.size, -1, dtype=np.int64)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1 if depth.size else 0):
        here = np.flatnonzero(depth == level)
        if above.size and here.size:
            slot = np.searchsorted(above, here) - 1
            candidate = above[np.maximum(slot, 0)]
            is_open = (slot >= 0) & (end[candidate] > start[here])
            parent[here] = np.where(is_open, candidate, -1)
        above = here
    return parent


def innermost(nesting: Nesting, lane: Ints, time: Ints) -> Ints:
    """Row of the innermost span that encloses each (lane, time), -1 where none does; lane -1 matches nothing."""
    if nesting.order.size == 0:
        return np.full(time.size, -1, dtype=np.int64)
    # times outside the spans' range would spill into a neighbouring lane
    inside = (lane >= 0) & (time >= nesting.origin) & (time < nesting.origin + nesting.stride)
    key = np.where(inside, lane * nesting.stride + (time - nesting.origin), -1)
    slot = np.searchsorted(nesting.start_key[nesting.order], key, side="right") - 1
    found = np.where(slot >= 0, nesting.order[np.maximum(slot, 0)], -1)
    while True:
        closed = (found >= 0) & (nesting.end_key[np.maximum(found, 0)] <= key)
        if not closed.any():
            return found
        found = np.where(closed, nesting.parent[np.maximum(found, 0)], found)
