"""What kernels compute, by their operators' shapes and their own names; and the rates that follow."""

from __future__ import annotations

import pytest

from analyze.analyses.device_rates import device_rates
from analyze.analyses.kernel_arithmetic import kernel_arithmetic
from analyze.analyses.op_arguments import op_arguments
from analyze.analyses.op_costs import op_costs
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import operator, table, work

FLOATS = '["float", "float"]'
A100 = TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0, name="NVIDIA A100-SXM4-80GB"),))


def told(ops, kernels):
    """kernel_arithmetic of hand-made tables."""
    cpu_ops = table("cpu_ops", *ops)
    arguments = op_arguments(cpu_ops)
    return kernel_arithmetic(table("kernels", *kernels), cpu_ops, arguments, op_costs(arguments))


PRODUCT = operator(0, 10, "aten::mm", input_shapes="[[4, 8], [8, 2]]", input_types=FLOATS)
PASS = operator(20, 30, "aten::add", input_shapes="[[100], [100]]", input_types=FLOATS)


def test_operations_are_shared_by_the_matrix_kernels_of_an_operator() -> None:
    kernels = [
        work(0, 30, "ampere_sgemm_128x64_tn", kind="gemm", op_id=0),
        work(30, 40, "splitKreduce_kernel", kind="gemm", op_id=0),
        work(40, 90, "nchwToNhwcKernel", kind="layout", op_id=0),
    ]
    assert told([PRODUCT], kernels)["flops"].to_list() == [128 * 30 / 40, 128 * 10 / 40, None]


def test_bytes_are_shared_by_the_kernels_of_a_pass() -> None:
    kernels = [work(0, 30, "first", op_id=1), work(30, 40, "second", op_id=1)]
    assert told([PRODUCT, PASS], kernels)["bytes"].to_list() == [1200 * 0.75, 1200 * 0.25]


def test_bytes_of_a_convolution_are_its_tensors() -> None:
    convolution = operator(0, 10, "aten::cudnn_convolution", input_shapes="[[2, 3, 4, 4], [8, 3, 1, 1]]", input_types=FLOATS)
    kernels = [
        work(0, 20, "nchwToNhwcKernel", kind="layout", op_id=0),
        work(20, 30, "implicit_gemm", kind="convolution", op_id=0),
    ]
    assert told([convolution], kernels)["bytes"].to_list() == [None, (96 + 24 + 96) * 4]


def test_precision_is_the_kernels_else_the_tensors() -> None:
    kernels = [
        work(0, 10, "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n", kind="gemm", op_id=0),
        work(10, 20, "some_gemm", kind="gemm", op_id=0),
        work(20, 30, "a_kernel_named_double", kind="elementwise", op_id=1),
        work(30, 40, "ampere_sgemm_128x64_tn", kind="gemm"),
    ]
    rows = told([PRODUCT, PASS], kernels)
    assert rows["precision"].to_list() == ["tf32", "fp32", "fp32", "fp32"]
    assert rows["element_type"].to_list() == ["fp32", "fp32", "fp32", None]


def test_memsets_compute_nothing() -> None:
    assert told([PRODUCT], [work(0, 10, "Memset (Device)", kind="memset", op_id=0)]).is_empty()


def test_without_operators_names_remain() -> None:
    row = kernel_arithmetic(table("kernels", work(0, 10, "ampere_sgemm_128x64_tn", kind="gemm"))).row(0, named=True)
    assert (row["op"], row["flops"], row["precision"]) == (None, None, "fp32")


def test_rates_are_those_of_the_faster_half() -> None:
    shapes = "[[1000, 1000], [1000, 1000]]"
    product = operator(0, 10, "aten::mm", input_shapes=shapes, input_types=FLOATS)
    passing = operator(20, 30, "aten::relu", input_shapes="[[20000000]]", input_types='["float"]')
    kernels = [
        work(0, 200_000, "ampere_sgemm_128x64_tn", kind="gemm", op_id=0),
        work(200_000, 600_000, "elementwise", op_id=1),
    ]
    rates = {row["what"]: row for row in device_rates(A100, told([product, passing], kernels)).rows(named=True)}
    assert rates["fp32"]["reached_per_s"] == pytest.approx(2e9 / 200_000 * 1e9)
    assert rates["fp32"]["peak_per_s"] == 19.5e12
    assert rates["memory"]["reached_per_s"] == pytest.approx(160e6 / 400_000 * 1e9)
    assert rates["memory"]["peak_per_s"] == 2039e9
    assert rates["bf16"]["reached_per_s"] is None


def test_products_of_single_precision_on_matrix_units_are_tf32() -> None:
    product = operator(0, 10, "aten::mm", input_shapes="[[1000, 1000], [1000, 1000]]", input_types=FLOATS)
    kernels = [work(0, 200_000, "cutlass_tensorop_gemm_tensor16x8x8", kind="gemm", op_id=0)]
    rates = device_rates(A100, told([product], kernels))
    assert [what for what, reached in rates.select("what", "reached_per_s").rows() if reached] == ["tf32"]


def test_short_kernels_say_nothing_about_rates() -> None:
    rates = device_rates(A100, told([PRODUCT], [work(0, 10, "ampere_sgemm_128x64_tn", kind="gemm", op_id=0)]))
    assert rates["reached_per_s"].null_count() == rates.height


def test_an_unknown_device_has_no_peaks_and_the_manifest_may_name_it() -> None:
    arithmetic = told([PRODUCT], [work(0, 10, "gemm", kind="gemm", op_id=0)])
    unknown = TraceInfo(producer="kineto-cuda")
    assert device_rates(unknown, arithmetic)["peak_per_s"].null_count() == 8
    assert device_rates(unknown, arithmetic, {"devices": [{"name": "Tesla T4"}]})["peak_per_s"][1] == 8.1e12
