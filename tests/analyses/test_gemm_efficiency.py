from __future__ import annotations

import pytest

from analyze.analyses._matrix_flops import matrix_flops
from analyze.analyses.attention_efficiency import attention_efficiency
from analyze.analyses.gemm_efficiency import gemm_efficiency
from analyze.analyses.model_flops_utilisation import model_flops_utilisation
from analyze.analyses.op_arguments import COLUMNS as ARGUMENTS
from analyze.errors import MissingData
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import frame, launch, operator, step_times, table, timed, work

H200 = TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0, name="NVIDIA H200"),))
BF16 = '["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]'


def arguments(*rows):
    """Rows of op_arguments: id, shapes, concrete inputs (a list of texts), types."""
    texts = [
        {"id": id_, "input_shapes": shapes, "input_types": types, "concrete_inputs": _json(scalars)}
        for id_, shapes, scalars, types in rows
    ]
    return frame(ARGUMENTS, *texts)


def _json(scalars):
    return "[" + ", ".join(f'"{each}"' for each in scalars) + "]"


def flops(name, shapes, *scalars):
    ops = table("cpu_ops", operator(0, 10, name, id=1))
    return matrix_flops(ops, arguments((1, shapes, scalars, BF16)))["flops"].to_list()


@pytest.mark.parametrize(
    ("name", "shapes", "count"),
    [
        ("aten::mm", "[[8, 16], [16, 32]]", 2 * 8 * 16 * 32),
        ("aten::mm", "[[8,16],[16,32]]", 2 * 8 * 16 * 32),
        ("aten::addmm", "[[32], [8, 16], [16, 32], [], []]", 2 * 8 * 16 * 32),
        ("aten::bmm", "[[4, 8, 16], [4, 16, 32]]", 2 * 4 * 8 * 16 * 32),
        ("aten::baddbmm", "[[4, 8, 32], [4, 8, 16], [4, 16, 32], [], []]", 2 * 4 * 8 * 16 * 32),
        ("aten::mv", "[[8, 16], [16]]", 2 * 8 * 16),
        ("aten::_scaled_mm", "[[8, 16], [16, 32], [], []]", 2 * 8 * 16 * 32),
    ],
)
def test_operations_of_a_product(name, shapes, count):
    assert flops(name, shapes) == [count]


def test_operators_that_only_call_a_product_are_not_counted_again():
    assert flops("aten::linear", "[[8, 16], [32, 16], [32]]") == []
    assert flops("aten::matmul", "[[8, 16], [16, 32]]") == []


def test_operations_of_a_convolution():
    """3x32x32 to 64 channels, 7x7, stride 2, padding 3: 16x16 outputs, each 3*7*7 multiply-adds."""
    shapes = "[[10, 3, 32, 32], [64, 3, 7, 7], [], [], [], [], [], [], []]"
    scalars = ("", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1")
    assert flops("aten::convolution", shapes, *scalars) == [2 * 10 * 64 * 16 * 16 * 3 * 7 * 7]


def test_groups_show_in_the_weight_s_shape_and_a_transposed_convolution_counts_its_input():
    grouped = "[[1, 8, 4, 4], [8, 1, 3, 3], [], [], [], [], [], [], []]"
    scalars = ("", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "8")
    assert flops("aten::convolution", grouped, *scalars) == [2 * 8 * 4 * 4 * 9]
    transposed = ("", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1")
    assert flops("aten::convolution", "[[1, 8, 4, 4], [8, 5, 2, 2], [], [], [], [], [], [], []]", *transposed) == [
        2 * 8 * 16 * 5 * 4
    ]


def test_without_strides_a_convolution_s_operations_are_unknown():
    assert flops("aten::convolution", "[[10, 3, 32, 32], [64, 3, 7, 7], []]") == [None]


@pytest.mark.parametrize(("mask", "factor"), [("[True, True, False]", 2), ("[False, True, True]", 1), ("", 2)])
def test_backward_of_a_convolution_does_the_forward_s_work_for_each_wanted_gradient(mask, factor):
    """The bias's gradient is no product; without a mask both products are assumed."""
    shapes = "[[10, 64, 16, 16], [10, 3, 32, 32], [64, 3, 7, 7], [], [], [], [], [], [], [], []]"
    scalars = ("", "", "", "[64]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", mask)
    assert flops("aten::convolution_backward", shapes, *scalars) == [factor * 2 * 10 * 64 * 16 * 16 * 3 * 7 * 7]


def test_operations_of_attention_forward_backward_and_causal():
    shapes = "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [], [], []]"
    full = 4 * 2 * 4 * 128 * 128 * 64
    assert flops("aten::_scaled_dot_product_flash_attention", shapes, "", "", "", "0.", "False") == [full]
    assert flops("aten::_scaled_dot_product_flash_attention", shapes, "", "", "", "0.", "True") == [full / 2]
    backward = "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128]]"
    scalars = ("",) * 10 + ("0.", "True")
    assert flops("aten::_scaled_dot_product_flash_attention_backward", backward, *scalars) == [2.5 * full / 2]


def test_efficiency_against_the_peak_of_the_kernel_s_precision():
    """1e9 operations in 2,022 ns are half of the H200's 989 TFLOP/s in bfloat16."""
    ops = table("cpu_ops", operator(0, 100, "aten::mm", id=1))
    launched = table("launches", launch(10, 15, id=7, op_id=1))
    name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
    kernels = table("kernels", work(200, 2222, name, kind="gemm", launch_id=7, op_id=1))
    found = gemm_efficiency(ops, arguments((1, "[[1000, 1000], [1000, 500]]", (), BF16)), launched, kernels, H200)
    assert found.select("op", "kernel", "precision", "tensor_core", "calls", "flops", "device_ns").rows() == [
        ("aten::mm", name, "bf16", True, 1, 1e9, 2022)
    ]
    assert found["peak_fraction"].to_list() == [pytest.approx(0.5, rel=1e-3)]


def test_the_kernel_may_be_launched_by_an_operator_inside_and_other_kinds_do_not_count():
    ops = table(
        "cpu_ops",
        operator(0, 100, "aten::convolution", id=1),
        operator(5, 95, "aten::_convolution", id=2, parent_id=1, depth=1),
        operator(10, 90, "aten::cudnn_convolution", id=3, parent_id=2, depth=2),
    )
    launched = table("launches", launch(20, 25, id=7, op_id=3), launch(30, 35, id=8, op_id=3))
    kernels = table(
        "kernels",
        work(200, 300, "nchwToNhwcKernel", kind="layout", launch_id=7, op_id=3),
        work(300, 700, "sm80_xmma_fprop_implicit_gemm_tf32f32", kind="convolution", launch_id=8, op_id=3),
    )
    scalars = ("", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1")
    found = gemm_efficiency(ops, arguments((1, "[[1, 2, 3, 3], [4, 2, 1, 1], []]", scalars, BF16)), launched, kernels)
    assert found.select("kernel", "precision", "flops", "device_ns", "peak_flops_per_s").rows() == [
        ("sm80_xmma_fprop_implicit_gemm_tf32f32", "tf32", 2 * 4 * 9 * 2, 400, None)
    ]


def test_no_matrix_kernels():
    ops = table("cpu_ops", operator(0, 100, "aten::mm", id=1))
    with pytest.raises(MissingData, match="no matrix kernel"):
        gemm_efficiency(
            ops,
            arguments((1, "[[8, 8], [8, 8]]", (), BF16)),
            table("launches", launch(0, 5, id=7)),
            table("kernels", work(9, 12, launch_id=7)),
        )


ATTENTION = "[[2, 4, 128, 64], [2, 4, 128, 64], [2, 4, 128, 64], [], [], []]"


def test_attention_s_rate_counts_everything_it_launches():
    ops = table(
        "cpu_ops",
        operator(0, 100, "aten::_scaled_dot_product_flash_attention", id=1),
        operator(10, 90, "aten::_flash_attention_forward", id=2, parent_id=1, depth=1),
    )
    launched = table("launches", launch(20, 25, id=7, op_id=2), launch(30, 35, id=8, op_id=2))
    kernels = table(
        "kernels",
        work(200, 600, "flash_fwd_kernel", kind="attention", launch_id=7, op_id=2),
        work(600, 700, "fill", kind="memset", launch_id=8, op_id=2),
    )
    found = attention_efficiency(ops, launched, kernels, arguments((1, ATTENTION, ("", "", "", "0.", "False"), BF16)), H200)
    count = 4 * 2 * 4 * 128 * 128 * 64
    assert found.select("implementation", "backward", "precision", "calls", "flops", "device_ns").rows() == [
        ("flash", False, "bf16", 1, count, 500)
    ]
    assert found["peak_fraction"].to_list() == [pytest.approx(count / 500e-9 / 989e12)]


def test_the_math_fallback_is_named_and_without_shapes_there_are_times_only():
    ops = table("cpu_ops", operator(0, 100, "aten::_scaled_dot_product_attention_math", id=1))
    launched = table("launches", launch(20, 25, id=7, op_id=1))
    found = attention_efficiency(ops, launched, table("kernels", work(200, 600, launch_id=7, op_id=1)))
    assert found.select("implementation", "flops", "device_ns", "flops_per_s").rows() == [("math", None, 400, None)]


def test_no_attention():
    with pytest.raises(MissingData, match="attention"):
        attention_efficiency(
            table("cpu_ops", operator(0, 9, "aten::mm")), table("launches", launch(0, 5)), table("kernels", work(9, 12))
        )


def products(*spans, shapes="[[1000, 1000], [1000, 500]]"):
    """One product of 1e9 operations per (start, step)."""
    ops = table("cpu_ops", *(operator(at, at + 10, "aten::mm", id=at, step=step) for at, step in spans))
    return ops, arguments(*((at, shapes, (), BF16) for at, _ in spans))


def test_utilisation_is_the_step_s_operations_over_all_of_its_time():
    """Step 1: 2e9 operations in 4,044 ns; step 2: 1e9 in 4,044: half and a quarter of the peak; the mean 1.5e9."""
    ops, shapes = products((0, 1), (20, 1), (5_000, 2), (20_000, None))
    steps = step_times(timed(1, 0, 4044), timed(2, 4044, 8088))
    found = model_flops_utilisation(ops, shapes, steps, H200)
    assert found.select("step", "flops", "precision").rows() == [(1, 2e9, "bf16"), (2, 1e9, "bf16"), (None, 1.5e9, "bf16")]
    assert found["utilisation"].to_list() == [pytest.approx(x, rel=1e-3) for x in (0.5, 0.25, 0.375)]


def test_the_mean_is_over_the_unprofiled_step_time_where_known():
    ops, shapes = products((0, 1))
    steps = step_times(timed(1, 0, 4044), timed(90, 0, 2022, profiled=False))
    found = model_flops_utilisation(ops, shapes, steps, H200)
    assert found.select("step", "step_ns", "profiled").rows() == [(1, 4044.0, True), (None, 2022.0, False)]


def test_operators_of_unknown_size_are_counted_and_unknown_devices_have_no_share():
    ops = table("cpu_ops", operator(0, 10, "aten::mm", id=1, step=1), operator(20, 30, "aten::convolution", id=2, step=1))
    shapes = arguments((1, "[[8, 8], [8, 8]]", (), BF16), (2, "[[10, 3, 32, 32], [64, 3, 7, 7], []]", (), BF16))
    found = model_flops_utilisation(ops, shapes, step_times(timed(1, 0, 100)))
    assert found.select("flops", "unknown_ops", "peak_flops_per_s", "utilisation").rows()[0] == (1024.0, 1, None, None)


def test_no_step_holds_products():
    ops, shapes = products((0, None))
    with pytest.raises(MissingData, match="no step"):
        model_flops_utilisation(ops, shapes, step_times(timed(1, 0, 100)), H200)
