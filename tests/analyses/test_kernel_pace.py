"""Kernels by how often and how long, as far as ranks can be compared by them."""

from __future__ import annotations

import pytest

from analyze.analyses.kernel_pace import HEAVIEST_COUNT, kernel_pace
from analyze.errors import MissingData
from tests.builders import operator, step, table, work

STEPS = table("steps", step(0, 0, 100), step(1, 100, 200))


def test_collectives_and_what_no_step_launched_do_not_count():
    kernels = table(
        "kernels", work(0, 30, "mm", step=0), work(100, 150, "mm", step=1), work(0, 9, "nccl", kind="collective", step=0),
        work(0, 99, "early"),
    )  # fmt: skip
    assert kernel_pace(STEPS, kernels).select("name", "count_per_step", "mean_ns", "ns_per_step").rows() == [
        ("mm", 1.0, 40.0, 40.0)
    ]


def test_without_a_device_operators_count_by_their_own_time():
    ops = table("cpu_ops", operator(0, 50, "aten::mm", step=0, self_ns=20))
    assert kernel_pace(STEPS, cpu_ops=ops).select("name", "kind", "mean_ns").rows() == [("aten::mm", "operator", 20.0)]


def test_what_goes_from_rank_to_rank_stays_small():
    kernels = table("kernels", *(work(0, n + 1, f"k{n}", step=0) for n in range(HEAVIEST_COUNT + 9)))
    assert kernel_pace(STEPS, kernels).height == HEAVIEST_COUNT


def test_nothing_to_compare_is_said():
    with pytest.raises(MissingData):
        kernel_pace(STEPS)
