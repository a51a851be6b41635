from __future__ import annotations

from analyze.analyses.elementwise_share import elementwise_share
from tests.builders import table, work


def test_runs_of_pointwise_kernels_could_give_back_all_but_the_longest():
    """Runs of 10 + 30 + 20 and, after a gemm, a lone 40: 60 - 30 fusable."""
    kernels = table(
        "kernels",
        work(0, 10),
        work(10, 40),
        work(40, 60, kind="copy"),
        work(60, 160, kind="gemm"),
        work(160, 200),
    )
    found = elementwise_share(kernels)
    assert found.rows() == [(0, 200, 100, 0.5, 4, 25.0, 1, 30, 3)]


def test_streams_do_not_join_runs_and_collectives_do_not_count():
    kernels = table("kernels", work(0, 10), work(20, 30, stream=20), work(40, 90, kind="collective", stream=30))
    assert elementwise_share(kernels).select("kernel_ns", "run_count", "longest_run").rows() == [(20, 0, 0)]


def test_driver_memsets_are_no_kernels_to_fuse():
    kernels = table("kernels", work(0, 10, "Memset (Device)", kind="memset"), work(10, 30, kind="gemm"))
    assert elementwise_share(kernels).select("elementwise_ns", "count", "mean_ns").rows() == [(0, 0, None)]
