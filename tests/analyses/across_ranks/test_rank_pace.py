"""More kernels, or slower ones?"""

from __future__ import annotations

import pytest

from analyze.analyses.across_ranks.rank_pace import rank_pace
from analyze.analyses.kernel_pace import COLUMNS
from tests.builders import frame
from tests.rank_sets import RANK


def _pace(*rows):
    full = [
        {"rank": rank, "name": name, "kind": "gemm", "count_per_step": count, "mean_ns": mean, "ns_per_step": count * mean}
        for rank, name, count, mean in rows
    ]
    return {row["rank"]: row for row in rank_pace(frame((*COLUMNS, RANK), *full)).to_dicts()}


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
