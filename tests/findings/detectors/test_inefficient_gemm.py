"""Odd rows of products are found and priced at the rate of even ones; small and thin products are not blamed for sizes."""

from __future__ import annotations

import pytest

from analyze import engine
from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "inefficient-gemm"
BF16 = "c10::BFloat16"
ALIGNED, UNALIGNED = "ampere_bf16_s16816gemm_bf16_256x128_ldg8_tn", "cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_align1"
REST = Op(name="aten::sort", kernels=[("radix_sort_kernel", 10.0)])


def product(m: int, k: int, n: int, dur_ms: float, kernel: str = UNALIGNED, **more: object) -> Op:
    return Op(name="aten::mm", kernels=[(kernel, dur_ms)], shapes=[[m, k], [k, n]], types=[BF16, BF16], **more)


#: 2 x 8192 x 4096 x 4096 operations in 1.25 ms: 220 TFLOP/s
EVEN = product(8192, 4096, 4096, 1.2494, ALIGNED)


def test_odd_products_take_the_rate_of_even_ones() -> None:
    finding = one(recorded(EVEN, product(8192, 4096, 4095, 5.0), REST), ID)
    # padded to 4096 it is the even one; 64 x 32 tiles on 108 multiprocessors take 19 waves instead of 18.96
    assert finding.step_saving_ns == pytest.approx((5 - 1.2494 * 19 * 108 / 2048) * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx((5 - 1.2494 * 1.4 * 1.002) * MS * 0.97, rel=0.02)
    assert "m, n, k = 8192, 4095, 4096" in finding.message
    assert finding.location == "aten::mm [[8192, 4096], [4096, 4095]]"


def test_without_even_products_a_share_of_the_peak_stands_in() -> None:
    finding = one(recorded(product(8192, 4096, 4095, 5.0), REST), ID)
    attainable_ms = 2 * 8192 * 4096 * 4096 / (0.6 * 312e12) * 1e3 * 19 * 108 / 2048
    assert finding.step_saving_ns == pytest.approx((5 - attainable_ms) * MS, rel=0.01)


def test_an_odd_number_of_rows_is_no_odd_row() -> None:
    by_rows = [[4096, 1], [4096, 1]]
    for strides in (by_rows, None):
        slow = product(8191, 4096, 4096, 2.0, strides=strides)
        assert findings(recorded(EVEN, slow, REST), ID) == ()


def test_a_factor_stored_by_columns_has_odd_columns() -> None:
    assert one(recorded(EVEN, product(8191, 4096, 4096, 5.0, strides=[[1, 8191], [4096, 1]]), REST), ID)


def test_products_near_the_attainable_rate_are_left_alone() -> None:
    assert findings(recorded(EVEN, product(8192, 4096, 4095, 1.3), REST), ID) == ()


def test_thin_products_are_bound_by_memory() -> None:
    assert findings(recorded(EVEN, product(8192, 4096, 15, 5.0), REST), ID) == ()


def test_traffic_bounds_what_padding_gives() -> None:
    # 33 x 65,535 elements of two bytes and the factors: 540 MB at 0.8 x 2,039 GB/s
    finding = one(recorded(product(4096, 64, 65535, 2.0), REST), ID)
    traffic_ms = (4096 * 64 + 64 * 65535 + 4096 * 65535) * 2 / (0.8 * 2039e9) * 1e3
    assert finding.step_saving_ns == pytest.approx((2 - traffic_ms) * MS, rel=0.01)


def test_plain_float32_is_another_finding() -> None:
    plain = Op(name="aten::mm", kernels=[("ampere_sgemm_128x64_tn", 5.0)], shapes=[[4095, 4095]] * 2, types=["float"] * 2)
    assert findings(recorded(plain, REST), ID) == ()


def test_slow_even_products_are_a_note() -> None:
    note = one(recorded(EVEN, *[product(1024, 512, 512, 0.06, ALIGNED)] * 40), ID)
    assert (note.kind, note.step_saving_ns) == ("note", None)
    assert "66% of the GPU's time" in note.message
    assert note.location == "aten::mm [[1024, 512], [512, 512]]"


def test_without_shapes_it_cannot_look() -> None:
    bare = Op(name="aten::mm", kernels=[(ALIGNED, 1.0)])
    outcome = recorded(bare).outcome(*engine.detectors()[ID])
    assert (outcome.state, outcome.reason) == ("skipped", "no shapes were recorded")
