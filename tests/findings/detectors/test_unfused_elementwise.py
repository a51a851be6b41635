"""Chains over one tensor are found by its number of elements; what is fused, unlike or apart is left alone."""

from __future__ import annotations

import pytest

from analyze import engine
from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "unfused-elementwise"
SHAPE = [64, 1024, 1024]
KERNEL = "void at::native::vectorized_elementwise_kernel<4, AUnaryFunctor>"
GEMM = Op(name="aten::mm", kernels=[("ampere_bf16_s16816gemm_bf16_128x128", 2.0)])


def unary(dur_ms: float = 1.0, shape: object = SHAPE, kernel: str = KERNEL) -> Op:
    return Op(name="aten::gelu", kernels=[(kernel, dur_ms)], shapes=[shape, []], types=["float", "Scalar"])


def test_the_tensors_between_are_read_no_more_and_half_of_them_written() -> None:
    finding = one(recorded(GEMM, unary(), unary(), unary(), GEMM), ID)
    # a pass reads and writes one tensor each: the first loses half of its writing, the last its reading, the second both
    assert finding.step_saving_ns == pytest.approx((0.25 + 0.75 + 0.5) * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx((0.0 + 0.5 + 0.5) * MS * 0.97, rel=0.03)
    # six passes over the tensor become one that reads and one that writes
    assert finding.step_saving_high_ns == pytest.approx(3 * (1 - 2 / 6) * MS * 1.03, rel=0.02)
    assert "3 kernels a step in 1 chains" in finding.message
    assert finding.location == "aten::gelu [[64, 1024, 1024], []]"
    assert finding.basis == "modelled"


def test_two_inputs_leave_the_other_one() -> None:
    add = Op(name="aten::add", kernels=[(KERNEL, 1.5)], shapes=[SHAPE, SHAPE], types=["float", "float"])
    finding = one(recorded(GEMM, unary(), add, GEMM), ID)
    # the add's three tensors: one of them is no longer read
    assert finding.step_saving_ns == pytest.approx((0.25 + 0.5) * MS, rel=0.01)
    # at best the other one is what the first kernel read: five passes become two
    assert finding.step_saving_high_ns == pytest.approx(2.5 * (1 - 2 / 5) * MS * 1.03, rel=0.02)


def test_a_product_between_them_parts_them() -> None:
    assert findings(recorded(unary(), GEMM, unary(), GEMM), ID) == ()


def test_other_sizes_are_other_tensors() -> None:
    assert findings(recorded(GEMM, unary(), unary(shape=[64, 1024, 512]), unary(), GEMM), ID) == ()


def test_kernels_of_one_operator_are_one() -> None:
    twice = Op(name="aten::native_layer_norm", kernels=[(KERNEL, 1.0), (KERNEL, 1.0)], shapes=[SHAPE], types=["float"])
    assert findings(recorded(GEMM, twice, GEMM), ID) == ()


def test_compiled_kernels_are_fused_already() -> None:
    assert findings(recorded(*[unary(kernel="triton_poi_fused_gelu_0")] * 3, GEMM), ID) == ()


def test_a_small_share_is_not_worth_compiling_for() -> None:
    assert findings(recorded(unary(0.1), unary(0.1), *[GEMM] * 4), ID) == ()


def test_without_shapes_it_cannot_look() -> None:
    bare = Op(name="aten::gelu", kernels=[(KERNEL, 1.0)])
    outcome = recorded(bare, bare).outcome(*engine.detectors()[ID])
    assert (outcome.state, outcome.reason) == ("skipped", "no shapes were recorded")
