"""Attention spelled out is told by sizes: a softmax between batched products that make and read its scores."""

from __future__ import annotations

import pytest

from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "unfused-attention"
HEADS, TOKENS, WIDTH = 128, 2048, 64
SCORES = [HEADS, TOKENS, TOKENS]
BF16 = "c10::BFloat16"
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
REST = Op(name="aten::sort", kernels=[("radix_sort_kernel", 2.0)])
#: 2 x 128 x 2048 x 2048 x 64
PRODUCT_FLOPS = 68_719_476_736


def product(left: object, right: object, *, shaped: bool = True, name: str = "aten::bmm") -> Op:
    return Op(name=name, kernels=[(GEMM, 1.0)], shapes=[left, right] if shaped else None, types=[BF16, BF16] if shaped else None)


def passing(name: str, kernel: str, dur_ms: float, shape: object = SCORES, *, shaped: bool = True) -> Op:
    return Op(name=name, kernels=[(kernel, dur_ms)], shapes=[shape] if shaped else None, types=[BF16] if shaped else None)


QUERY_KEY = product([HEADS, TOKENS, WIDTH], [HEADS, WIDTH, TOKENS])
SCORES_VALUE = product(SCORES, [HEADS, TOKENS, WIDTH])
SCALE = passing("aten::mul", "vectorized_elementwise_kernel<mul>", 0.5)
SOFTMAX = passing("aten::_softmax", "softmax_warp_forward", 2.0)
BACKWARD = passing("aten::_softmax_backward_data", "softmax_warp_backward", 2.0)


def test_passes_vanish_and_products_take_the_fused_rate() -> None:
    finding = one(recorded(QUERY_KEY, SCALE, SOFTMAX, SCORES_VALUE, REST), ID)
    # two products at 0.35 x 312 TFLOP/s, with a sixth for recomputing: 1.468 ms instead of 2
    fused_ms = 2 * PRODUCT_FLOPS * 7 / 6 / (0.35 * 312e12) * 1e3
    assert finding.step_saving_ns == pytest.approx((2.5 + 2 - fused_ms) * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx((2.5 + 2 - fused_ms * 0.35 / 0.15) * MS * 0.97, rel=0.03)
    assert finding.step_saving_high_ns == pytest.approx((2.5 + 2 - fused_ms * 0.35 / 0.6 / 2) * MS * 1.03, rel=0.03)
    assert "1 softmaxes a step" in finding.message
    assert "2.5 ms of it in passes" in finding.message
    assert finding.location == "aten::_softmax [[128, 2048, 2048]]"


def test_backward_belongs_to_it() -> None:
    gradient = product([HEADS, TOKENS, WIDTH], [HEADS, WIDTH, TOKENS])
    of_query = product(SCORES, [HEADS, TOKENS, WIDTH])
    forward = one(recorded(QUERY_KEY, SOFTMAX, SCORES_VALUE, REST), ID)
    both = one(recorded(QUERY_KEY, SOFTMAX, SCORES_VALUE, gradient, BACKWARD, of_query, REST), ID)
    assert both.step_saving_ns == pytest.approx(2 * forward.step_saving_ns, rel=0.01)


def test_backward_may_read_the_scores_as_its_right_factor() -> None:
    gradient = product([HEADS, TOKENS, WIDTH], [HEADS, WIDTH, TOKENS])
    of_key = product([HEADS, WIDTH, TOKENS], SCORES)
    forward = one(recorded(QUERY_KEY, SOFTMAX, SCORES_VALUE, REST), ID)
    both = one(recorded(QUERY_KEY, SOFTMAX, SCORES_VALUE, gradient, BACKWARD, of_key, REST), ID)
    assert both.step_saving_ns == pytest.approx(2 * forward.step_saving_ns, rel=0.01)


def test_without_shapes_the_passes_vanish_and_the_products_stay() -> None:
    parts = [product(None, None, shaped=False), passing("aten::_softmax", "softmax_warp_forward", 2.0, shaped=False)]
    finding = one(recorded(*parts, product(None, None, shaped=False), REST), ID)
    assert finding.step_saving_ns == pytest.approx(2 * MS, rel=0.01)


def test_a_copy_of_another_size_between_them_stays() -> None:
    merge = passing("aten::copy_", "direct_copy_kernel", 1.0, [HEADS, TOKENS, WIDTH])
    alone = one(recorded(QUERY_KEY, SOFTMAX, SCORES_VALUE, REST), ID)
    assert one(recorded(QUERY_KEY, SOFTMAX, merge, SCORES_VALUE, REST), ID).step_saving_ns == pytest.approx(
        alone.step_saving_ns, rel=0.01
    )


def test_fused_attention_is_silent() -> None:
    flash = Op(name="aten::_flash_attention_forward", kernels=[("flash_fwd_kernel<bf16>", 4.0)])
    assert findings(recorded(flash, REST), ID) == ()


def test_a_classifier_is_not_attention() -> None:
    linear = product([4096, 1024], [1024, 4096], name="aten::mm")
    assert findings(recorded(linear, SOFTMAX, linear, REST), ID) == ()


def test_batched_products_of_other_sizes_are_not_attention() -> None:
    other = product([HEADS, 64, 64], [HEADS, 64, 64])
    assert findings(recorded(other, SOFTMAX, other, REST), ID) == ()


def test_a_small_share_is_not_worth_it() -> None:
    long = Op(name="aten::sort", kernels=[("radix_sort_kernel", 200.0)])
    assert findings(recorded(QUERY_KEY, SOFTMAX, SCORES_VALUE, long), ID) == ()
