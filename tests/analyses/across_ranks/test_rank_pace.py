"""More kernels, or slower ones?"""

from __future__ import annotations

import pytest

from analyze.analyses.across_ranks.rank_pace import rank_pace
from analyze.analyses.kernel_pace import COLUMNS
from analyze.analyses.shaped_work import COLUMNS as WORK
from tests.builders import frame
from tests.rank_sets import RANK


def _pace(*rows, work=None):
    full = [
        {"rank": rank, "name": name, "kind": "gemm", "count_per_step": count, "mean_ns": mean, "ns_per_step": count * mean}
        for rank, name, count, mean in rows
    ]
    return {row["rank"]: row for row in rank_pace(frame((*COLUMNS, RANK), *full), work).to_dicts()}


def test_more_kernels_of_the_same_pace():
    found = _pace(*((rank, "mm", 10.0, 100.0) for rank in (0, 1)), (2, "mm", 15.0, 100.0))
    assert (found[2]["count_ratio"], found[2]["pace_ratio"]) == (1.5, 1.0)
    assert (found[0]["count_ratio"], found[0]["pace_ratio"]) == (1.0, 1.0)


def test_as_many_slower_kernels():
    found = _pace(*((rank, name, 10.0, 100.0) for rank in (0, 1) for name in "ab"), (2, "a", 10.0, 120.0), (2, "b", 10.0, 120.0))
    assert found[2]["count_ratio"] == 1.0
    assert found[2]["pace_ratio"] == pytest.approx(1.2)
    assert found[2]["pace_spread"] == pytest.approx(0.0)


def test_kernels_that_nobody_else_runs_are_not_compared():
    found = _pace((0, "a", 1.0, 100.0), (1, "a", 1.0, 100.0), (1, "b", 1.0, 300.0))
    assert found[1]["shared_fraction"] == 0.25
    assert isinstance(found[1]["pace_ratio"], float)


def _work(*rows):
    keys = ("rank", "flops_per_step", "bytes_per_step")
    return frame((*WORK, RANK), *(dict(zip(keys, row, strict=True)) for row in rows))


def test_work_by_shapes_is_held_against_the_others():
    kernels = [(rank, "mm", 10.0, 100.0) for rank in range(2)]
    found = _pace(*kernels, work=_work((0, 100.0, 1.0), (1, 150.0, 1.0)))
    assert [found[rank]["work_ratio"] for rank in (0, 1)] == pytest.approx([2 / 3, 1.5])
    # one rank has no products at all: bytes are what all have
    found = _pace(*kernels, work=_work((0, 0.0, 20.0), (1, 150.0, 25.0)))
    assert found[1]["work_ratio"] == 1.25


def test_without_the_others_shapes_nothing_is_said_of_work():
    kernels = [(rank, "mm", 10.0, 100.0) for rank in range(2)]
    assert _pace(*kernels)[1]["work_ratio"] is None
    assert _pace(*kernels, work=_work((1, 150.0, 25.0)))[1]["work_ratio"] is None
