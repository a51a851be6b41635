from __future__ import annotations

from analyze.analyses.layout_conversions import layout_conversions
from tests.builders import operator, table, work


def test_layout_kernels_with_the_operator_that_launched_them():
    kernels = table(
        "kernels",
        work(0, 30, "nchwToNhwcKernel", kind="layout", op_id=5),
        work(30, 40, "nchwToNhwcKernel", kind="layout", op_id=5),
        work(40, 100, "implicit_gemm", kind="convolution", op_id=5),
        work(0, 50, "nchwToNhwcKernel", kind="layout", device=1),
    )
    found = layout_conversions(kernels, table("cpu_ops", operator(0, 9, "aten::cudnn_convolution", id=5)))
    assert found.rows() == [
        (1, "nchwToNhwcKernel", None, 1, 50, 1.0),
        (0, "nchwToNhwcKernel", "aten::cudnn_convolution", 2, 40, 0.4),
    ]


def test_no_conversions_no_rows():
    assert layout_conversions(table("kernels", work(0, 30))).is_empty()
