from __future__ import annotations

import pytest

from analyze.analyses.activity_overlap import activity_overlap
from tests.builders import copy, table, work


def test_every_instant_of_busy_time_belongs_to_one_combination():
    """Compute [0,100), collective [60,160), copy [80,200): 60 alone, 20 + 20 + 60 shared, 40 copy alone."""
    kernels = table("kernels", work(0, 100), work(60, 160, "ncclDevKernel_AllReduce", kind="collective", stream=20))
    found = activity_overlap(kernels, table("copies", copy(80, 200, stream=9)))
    assert dict(found.select("activity", "total_ns").rows()) == {
        "compute": 60,
        "copy": 40,
        "compute+communication": 20,
        "communication+copy": 60,
        "compute+communication+copy": 20,
    }
    assert found["busy_fraction"].sum() == pytest.approx(1.0)


def test_work_of_one_kind_never_overlaps_itself():
    found = activity_overlap(table("kernels", work(0, 100), work(50, 150, stream=20)))
    assert found.select("activity", "total_ns", "busy_fraction").rows() == [("compute", 150, 1.0)]
