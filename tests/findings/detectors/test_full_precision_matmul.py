"""Full precision is found where products run on plain units by setting, and nowhere else."""

from __future__ import annotations

import pytest

from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "full-precision-matmul"
#: A100: fp32 19.5, TF32 156, bf16 312 TFLOP/s; 2 x 4096 x 4096 x 4096 operations in 8 ms are 17.2 TFLOP/s
SHAPES, TYPES = [[4096, 4096], [4096, 4096]], ["float", "float"]
SGEMM = "ampere_sgemm_128x128_tn"
TF32_GEMM = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16"
BF16_GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
REST = Op(name="aten::sort", kernels=[("radix_sort_kernel", 2.0)])


def product(kernel: str, dur_ms: float, **more: object) -> Op:
    return Op(name="aten::mm", kernels=[(kernel, dur_ms)], **({"shapes": SHAPES, "types": TYPES} | more))


def test_the_saving_is_what_half_precision_and_its_casts_leave() -> None:
    finding = one(recorded(product(SGEMM, 8.0), REST), ID)
    # at 0.75 x 312 instead of the 17.18 reached: 8 ms x 0.0734 = 0.587 ms; casting one 4096 x 4096 matrix at 5 bytes per
    # element and 0.8 x 2,039 GB/s: 0.051 ms
    assert finding.step_saving_ns == pytest.approx((8 - 0.587 - 0.051) * MS, rel=0.01)
    # TF32 at 0.55 x 156: 8 ms x 0.2002 = 1.602 ms
    assert finding.step_saving_low_ns == pytest.approx((8 - 1.602) * MS * 0.97, rel=0.02)
    assert finding.step_saving_high_ns > finding.step_saving_ns
    assert finding.basis == "modelled"
    assert finding.confidence <= 0.6
    assert "80% of the GPU's time" in finding.message
    assert "TF32" in finding.message
    assert finding.location == "aten::mm [[4096, 4096], [4096, 4096]]"
    assert finding.evidence["calls_per_step"].to_list() == [1.0]
    assert finding.evidence["tflops_per_s"][0] == pytest.approx(17.18, rel=0.001)


def test_a_device_without_tf32_is_bounded_by_half_precision_at_a_poor_rate() -> None:
    finding = one(recorded(product("volta_sgemm_128x128_tn", 10.0), REST, device="Tesla V100-SXM2-32GB"), ID)
    # 13.74 TFLOP/s now; cautious 0.55 x 125: 10 ms x 0.1999, and the casts, 0.117 ms
    assert finding.step_saving_low_ns == pytest.approx((10 - 1.999 - 0.117) * MS * 0.97, rel=0.02)
    assert "TF32" not in finding.message


def test_products_shorter_than_their_casts_are_better_served_by_tf32() -> None:
    small = [product(SGEMM, 0.0075, shapes=[[64, 256], [256, 256]]) for _ in range(40)]
    finding = one(recorded(*small, Op(name="aten::sort", kernels=[("radix_sort_kernel", 1.0)])), ID)
    assert "with TF32" in finding.message


def test_silent_with_tf32_allowed() -> None:
    assert findings(recorded(product(TF32_GEMM, 8.0), REST), ID) == ()


def test_silent_under_autocast() -> None:
    half = product(BF16_GEMM, 1.0, types=["c10::BFloat16", "c10::BFloat16"])
    assert findings(recorded(half, product(SGEMM, 0.05), REST), ID) == ()


def test_silent_where_cudnn_picks_a_plain_kernel_though_tf32_is_allowed() -> None:
    tf32 = Op(name="aten::cudnn_convolution", kernels=[("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_nhwc", 3.0)])
    plain = Op(name="aten::cudnn_convolution", kernels=[("ampere_scudnn_128x64_relu_medium_nn", 2.0)])
    assert findings(recorded(tf32, plain, REST), ID) == ()


def test_convolutions_in_tf32_do_not_excuse_products_in_fp32() -> None:
    tf32 = Op(name="aten::cudnn_convolution", kernels=[("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_nhwc", 9.0)])
    assert one(recorded(tf32, product(SGEMM, 8.0), REST), ID).location.startswith("aten::mm")


def test_products_with_a_vector_are_bound_by_memory() -> None:
    assert findings(recorded(product("void gemv2T_kernel_val<int, int, float, float>", 8.0), REST), ID) == ()


def test_a_helper_of_a_half_precision_product_is_not_one() -> None:
    half = ["c10::BFloat16", "c10::BFloat16"]
    helper = Op(name="aten::mm", kernels=[("gemm_helper<float>", 8.0)], shapes=SHAPES, types=half)
    assert findings(recorded(helper, REST), ID) == ()


def test_a_small_share_is_not_worth_changing() -> None:
    assert findings(recorded(product(SGEMM, 0.2), Op(name="aten::sort", kernels=[("radix_sort_kernel", 9.0)])), ID) == ()


def test_memory_traffic_bounds_the_new_time() -> None:
    # 65,536 x 64 by 64 x 64: 2 x 16.8 MB of half-precision traffic at 0.8 x 2,039 GB/s take 10.3 µs, whatever the rate
    thin = product(SGEMM, 0.04, shapes=[[65536, 64], [64, 64]])
    finding = one(recorded(*[thin] * 25), ID)
    assert finding.step_saving_high_ns <= 25 * (40_000 - 10_300) * 1.1


def test_an_unknown_device_is_bounded_by_what_tensor_cores_usually_give() -> None:
    finding = one(recorded(product(SGEMM, 8.0), REST, device="Some New GPU"), ID)
    assert finding.step_saving_ns == pytest.approx((8 - 1.6) * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx(4 * MS * 0.97, rel=0.02)


def test_without_shapes_the_usual_efficiency_stands_in() -> None:
    finding = one(recorded(product(SGEMM, 8.0, shapes=None, types=None), REST), ID)
    # 0.8 x 19.5 now, 0.75 x 312 then
    assert finding.step_saving_ns == pytest.approx((8 - 8 * 15.6 / 234) * MS, rel=0.01)
