"""float64 is found on devices and on CPUs, and Python numbers beside float32 tensors are not taken for it."""

from __future__ import annotations

import json

import polars as pl
import pytest

from analyze.engine import Workspace
from tests.builders import family, marker, on_thread
from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "double-precision"
SQUARE = [[4096, 4096], [4096, 4096]]
REST = Op(name="aten::sort", kernels=[("radix_sort_kernel", 2.0)])


def pass_over(dur_ms: float, *types: str, shapes: object = ([4096, 4096], [])) -> Op:
    return Op(name="aten::mul", kernels=[("vectorized_elementwise_kernel<mul>", dur_ms)], shapes=list(shapes), types=list(types))


def product(dur_ms: float, **more: object) -> Op:
    kernels = [("ampere_dgemm_128x64_tn", dur_ms)]
    return Op(name="aten::mm", kernels=kernels, **({"shapes": SQUARE, "types": ["double", "double"]} | more))


def test_a_pass_halves() -> None:
    total = Op(name="aten::sum", kernels=[("reduce_kernel<sum>", 1.0)], shapes=[[4096, 4096]], types=["double"])
    finding = one(recorded(total, REST), ID)
    assert finding.step_saving_ns == pytest.approx(0.5 * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx(0.35 * MS * 0.97, rel=0.05)
    assert finding.step_saving_high_ns == pytest.approx(0.6 * MS * 1.03, rel=0.05)
    assert "33% of the GPU's time" in finding.message
    assert finding.location == "aten::sum [[4096, 4096]]"


def test_a_pass_bound_by_arithmetic_shrinks_to_its_traffic() -> None:
    # 2 x 67.1 MB in float32 at 0.8 x 864 GB/s
    slow = pass_over(10.0, "double", "Scalar")
    fast = Op(name="aten::relu", kernels=[("elementwise<relu>", 0.1942)], shapes=[[4096, 4096]], types=["float"])
    finding = one(recorded(slow, *[fast] * 60, device="NVIDIA L40S"), ID)
    assert finding.step_saving_ns == pytest.approx((10 - 0.1942) * MS, rel=0.01)


def test_products_follow_the_peak_rates() -> None:
    # L40S: 1.4 TFLOP/s in float64, 91.6 in float32
    finding = one(recorded(product(100.0), REST, device="NVIDIA L40S"), ID)
    assert finding.step_saving_ns == pytest.approx((100 - 100 * 1.4 / 91.6) * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx((100 - 200 * 1.4 / 91.6) * MS * 0.97, rel=0.02)


def test_a_product_that_float32_would_not_make_faster_gives_nothing_back() -> None:
    # A100: 19.5 TFLOP/s in both; only a much slower float64 than its peak leaves something, which is the upper bound
    assert findings(recorded(product(10.0), REST), ID) == ()


def test_without_shapes_names_of_products_tell() -> None:
    assert one(recorded(product(100.0, shapes=None, types=None), REST, device="NVIDIA L40S"), ID)


def test_a_python_number_beside_a_float32_tensor_is_not_double_precision() -> None:
    assert findings(recorded(pass_over(1.0, "double", "float", shapes=([], [4096, 4096])), REST), ID) == ()


def test_kernels_that_only_accumulate_in_double_are_not_double_precision() -> None:
    adam = Op(
        name="aten::_fused_adamw_",
        kernels=[("multi_tensor_apply_kernel<FusedAdamMathFunctor<float, double>>", 5.0)],
        shapes=[[4096, 4096]],
        types=["float"],
    )
    assert findings(recorded(adam, REST), ID) == ()


def test_a_small_share_may_be_on_purpose() -> None:
    assert findings(recorded(pass_over(0.1, "double", "Scalar"), REST), ID) == ()


def cpu_only(*operators: tuple[str, str, float]) -> Workspace:
    """One thread, two steps of (operator, type, ms)."""
    ops, markers, at = [], [], 0
    for step in range(2):
        begin = at
        for name, kind, dur_ms in operators:
            dims = json.dumps([[64, 64]])
            ops.append(on_thread(at, at + round(dur_ms * MS), name, input_dims=dims, input_types=json.dumps([kind])))
            at += round(dur_ms * MS)
        markers.append(marker(step, begin, at))
    for number, row in enumerate([*ops, *markers]):
        row["id"] = number
    empty = ("device_events", "runtime_events", "python_events", "sync_events", "memory_events")
    return Workspace(
        {
            "op_events": family("op_events", *ops),
            "annotation_events": family("annotation_events", *markers),
            **{name: family(name) for name in empty},
        }
    )


def test_on_a_cpu_operators_take_half() -> None:
    finding = one(cpu_only(("aten::mul", "double", 6.0), ("aten::sort", "float", 4.0)), ID)
    assert finding.step_saving_ns == pytest.approx(3.0 * MS)
    assert finding.step_saving_low_ns == pytest.approx(6 * 0.3 * MS)
    assert finding.step_saving_high_ns == pytest.approx(6 * 0.7 * MS)
    assert "60% of the step" in finding.message
    assert finding.evidence.select("name", "self_per_step_ns").rows() == [("aten::mul", 6.0 * MS)]


def test_on_a_cpu_convolutions_gain_more() -> None:
    finding = one(cpu_only(("aten::_slow_conv2d_forward", "double", 10.0)), ID)
    assert finding.step_saving_ns == pytest.approx(6.5 * MS)


def test_on_a_cpu_float32_is_silent() -> None:
    assert findings(cpu_only(("aten::mul", "float", 10.0)), ID) == ()


def test_the_unprofiled_step_time_scales_the_saving() -> None:
    workspace = cpu_only(("aten::mul", "double", 10.0))
    step_time = workspace.get("step_time").with_columns(profiled=pl.lit(value=False), step_ns=pl.lit(8 * MS, dtype=pl.Int64))
    workspace = cpu_only(("aten::mul", "double", 10.0))
    workspace._done["step_time"] = pl.concat([workspace.get("step_time"), step_time])
    assert one(workspace, ID).step_saving_ns == pytest.approx(4 * MS)
