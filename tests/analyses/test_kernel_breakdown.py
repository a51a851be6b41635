from __future__ import annotations

import pytest

from analyze.analyses.kernel_breakdown import kernel_breakdown
from analyze.analyses.kernel_kinds_breakdown import kernel_kinds_breakdown
from tests.builders import table, work


def test_counts_and_spread_by_name():
    kernels = table("kernels", work(0, 10, "a"), work(10, 30, "a"), work(30, 60, "a"), work(60, 100, "b"))
    found = kernel_breakdown(kernels).drop("kind")
    assert found.row(0) == (0, "a", 3, 60, 20.0, 20.0, pytest.approx(29.8), 10, 30, 0.6)
    assert found.row(1)[1:4] == ("b", 1, 40)


def test_many_names_keep_their_own_extremes():
    """Twelve names of ten launches of 12 ns: every mean, shortest and longest is 12, no name is folded away."""
    rows = [work(turn * 12, turn * 12 + 12, f"kernel_{turn % 12}") for turn in range(120)]
    found = kernel_breakdown(table("kernels", *rows))
    assert found.height == 12
    assert found.select("mean_ns", "min_ns", "max_ns").unique().rows() == [(12.0, 12, 12)]


def test_devices_have_their_own_shares():
    found = kernel_breakdown(table("kernels", work(0, 10, "a"), work(0, 30, "a", device=1)))
    assert sorted(found.select("device", "total_ns", "time_fraction").rows()) == [(0, 10, 1.0), (1, 30, 1.0)]


def test_kinds_add_up_but_do_not_double_count_busy_time():
    """Two elementwise kernels overlap by 50: 200 summed, 150 busy."""
    kernels = table("kernels", work(0, 100, "a"), work(50, 150, "b", stream=20), work(150, 200, "c", kind="gemm"))
    found = kernel_kinds_breakdown(kernels)
    assert found.select("kind", "count", "total_ns", "busy_ns", "name_count", "time_fraction").rows() == [
        ("elementwise", 2, 200, 150, 2, 0.8),
        ("gemm", 1, 50, 50, 1, 0.2),
    ]
