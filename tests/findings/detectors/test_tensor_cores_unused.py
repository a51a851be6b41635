"""Half-precision products on plain units are told by what their names say, never by what they leave out."""

from __future__ import annotations

import pytest

from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "tensor-cores-unused"
ODD = [[4095, 4095], [4095, 4095]]
HALF, BF16 = ["c10::Half", "c10::Half"], ["c10::BFloat16", "c10::BFloat16"]
REST = Op(name="aten::sort", kernels=[("radix_sort_kernel", 2.0)])


def product(kernel: str, dur_ms: float = 8.0, **more: object) -> Op:
    return Op(name="aten::mm", kernels=[(kernel, dur_ms)], **({"shapes": ODD, "types": HALF} | more))


def test_the_saving_is_the_ratio_of_peaks() -> None:
    finding = one(recorded(product("volta_fp16_sgemm_fp16_128x64_nn"), REST, device="Tesla V100-SXM2-32GB"), ID)
    # 0.8 x 15.7 now, 0.5 x 125 then
    assert finding.step_saving_ns == pytest.approx(8 * (1 - 12.56 / 62.5) * MS, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx(8 * (1 - 12.56 / 31.25) * MS * 0.97, rel=0.02)
    assert finding.step_saving_high_ns == pytest.approx(8 * (1 - 12.56 / 93.75) * MS * 1.03, rel=0.02)
    assert "100% of it in sizes that are no multiple of 8" in finding.message
    assert finding.location == "aten::mm [[4095, 4095], [4095, 4095]]"
    assert finding.basis == "modelled"


def test_bfloat16_on_a_device_without_it_is_emulated() -> None:
    even = [[4096, 4096], [4096, 4096]]
    finding = one(recorded(product("some_gemm_kernel", types=BF16, shapes=even), REST, device="Tesla V100-SXM2-32GB"), ID)
    assert "multiple of 8" not in finding.message


@pytest.mark.parametrize(
    "kernel",
    [
        "void convolve_common_engine_float_NHWC<__nv_bfloat16, __nv_bfloat16, 128, 5, 5, 3, 3, 3, true, false, false>",
        "void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, false, false, 0, 0, int, float, __half>",
        "sm80_xmma_gemm_f16f16_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna2_alignc2_execute_kernel",
    ],
)
def test_names_that_say_plain_units_on_a_hopper_device(kernel: str) -> None:
    finding = one(recorded(product(kernel), REST, device="NVIDIA H200"), ID)
    # 0.8 x 67 now, 0.5 x 989 then
    assert finding.step_saving_ns == pytest.approx(8 * (1 - 53.6 / 494.5) * MS, rel=0.01)


@pytest.mark.parametrize(
    "kernel",
    [
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
        "volta_h884gemm_128x128_nn",
        "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
        "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT",
        "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_64x64_64x3_nt_align1>",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1",
        "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolution",
        "igemm_fwd_gtcx3_nhwc_fp16_bx0_ex1_bt128x256x32",
        "void splitKreduce_kernel<32, 16, int, __half, __half, float>",
        "void gemv2T_kernel_val<int, int, __half, __half, __half, float>",
    ],
)
def test_silent_where_the_name_does_not_say_plain_units(kernel: str) -> None:
    assert findings(recorded(product(kernel), REST), ID) == ()


def test_float32_is_another_finding() -> None:
    assert findings(recorded(product("ampere_sgemm_128x128_tn", types=["float", "float"]), REST), ID) == ()


def test_a_small_share_is_not_worth_padding() -> None:
    assert findings(recorded(product("void cutlass_80_simt_hgemm_128x128", 0.03), REST), ID) == ()
