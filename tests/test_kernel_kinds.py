from __future__ import annotations

import polars as pl
import pytest

from analyze.kernel_kinds import with_kind, with_matrix_precision


def named(*names):
    return pl.DataFrame({"name": pl.Series(names, dtype=pl.Categorical)})


KINDS = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)": "collective",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)": "collective",
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>": "collective",
    "my_ncclish_copy": "other",
    "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>": "attention",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7": "attention",
    "attn_fwd": "attention",
    "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10": "elementwise",
    "triton_red_fused__log_softmax_mul_nll_loss_forward_sub_view_41": "reduction",
    "triton_tem_fused_mm_3": "gemm",
    "void at::native::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>>": "optimizer",
    "void cudnn::ops::nchwToNhwcKernel<float, float>": "layout",
    "batched_transpose_32x32_half": "layout",
    "sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc": "convolution",
    "cudnn_infer_volta_scudnn_128x64_stridedB_interior_nn_v1": "convolution",
    "turing_h1688cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1": "convolution",
    "cudnn_volta_scudnn_128x64_relu_xregs_large_nn_v1": "convolution",
    "volta_sgemm_64x64_nt": "gemm",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT": "gemm",
    "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1": "gemm",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>": "gemm",
    "void fbgemm_gpu::permute_2D_data_kernel<false, int, int>": "embedding",
    "fbgemm::split_embedding_codegen_forward_cpu-dtype_Half": "embedding",
    "void at::native::batch_norm_backward_kernel<c10::BFloat16, float>": "normalization",
    "void at::native::softmax_warp_forward<float, float, float, 9>": "softmax",
    "void at::native::max_pool_backward_nchw<float, float>": "pooling",
    "void at::native::indexSelectLargeIndex<c10::Half, long>": "embedding",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>": "reduction",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>": "memset",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>": "copy",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>": "elementwise",
    "void convert_fp8_to_half(int)": "other",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_kind_by_name(name, kind):
    assert with_kind(named(name))["kind"].cast(pl.String).to_list() == [kind]


def test_every_row_keeps_its_place():
    frame = with_kind(named("volta_sgemm_64x64_nt", "what is this", "volta_sgemm_64x64_nt"))
    assert frame["kind"].cast(pl.String).to_list() == ["gemm", "other", "gemm"]


@pytest.mark.parametrize(
    ("name", "tensor_core", "precision"),
    [
        ("volta_sgemm_64x64_nt", False, "fp32"),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>", False, "fp32"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_ffma_aligna4", False, "fp32"),
        ("cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1", True, "tf32"),
        ("cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1", True, "bf16"),
        ("ampere_fp16_s1688gemm_fp16_256x64_ldg8_f2f_tn", True, "fp16"),
        ("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn", True, "fp16"),
        ("volta_h884gemm_256x128_ldg8_nn", True, "fp16"),
        ("volta_s884gemm_fp16_128x128_ldg8_f2f_tn", True, "fp16"),
        ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32_tensor16x8x16_kernel", True, "fp16"),
        ("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc", True, "tf32"),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", True, "bf16"),
        ("nvjet_hsh_128x160_64x5_2x4_v_bz_NTT", True, "fp16"),
        ("nvjet_sm100_sss_128x160_v_bz_NTT", True, "tf32"),
        ("nvjet_qqtst_192x192_128x4_1x2_h_bz_coopB_TNN", True, "fp8"),
        ("nvjet_rqsss_144x128_128x6_1x2_h_bz_coopA_algo2_TNN", True, "fp8"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1", True, "bf16"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1", True, "fp16"),
        ("Cijk_Ailk_Bljk_SB_MT64x64x16", False, "fp32"),
        ("dgemm_kernel", False, "fp64"),
        ("triton_per_fused__flash_attn_backward__unsafe_view_mul_10", False, None),
        ("XXT_kernel", False, None),
    ],
)
def test_matrix_units_and_precision_by_name(name, tensor_core, precision):
    assert with_matrix_precision(named(name)).select("tensor_core", "precision").rows() == [(tensor_core, precision)]
