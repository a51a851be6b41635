"""Which kind of work a kernel is, from its name: data, first match wins.

Names come from cuBLAS, cuDNN, CUTLASS, NCCL, PyTorch's own kernels, Triton and Inductor, and their ROCm, oneAPI and Ascend
relatives. A kernel that nothing matches is 'other', never dropped.
"""

from __future__ import annotations

import polars as pl

#: kernels that move data between devices; annotations such as `nccl:all_reduce` are not kernels and never reach this table
COLLECTIVE = (
    r"^nccl(Dev)?Kernel|^ncclSymk|^nccl[A-Z]\w*Kernel|^rccl|^msccl|^mscclpp|^nvshmem|^oneccl|^hccl|^hcom_"
    r"|cross_device_reduce|oneshot_?all_?reduce|twoshot_?all_?reduce|multimem_all_(reduce|gather)|custom_?all_?reduce"
    r"|allreduce_fusion_kernel|^ccl_|AllReduceKernel|symm_mem.*(all_reduce|all_gather|reduce_scatter)"
)

KINDS: tuple[tuple[str, str], ...] = (
    ("collective", COLLECTIVE),
    # Inductor names a fused kernel after every operator in it; what it does is in the prefix
    ("elementwise", r"^triton_(poi|for)_"),
    ("reduction", r"^triton_(red|per)_"),
    ("gemm", r"^triton_tem_"),
    (
        "attention",
        r"flash|fmha|mha_(fwd|bwd|varlen)|attention|attn|sdpa|sage_fwd|mem_eff|compute_dot_do_o|convert_dq_to",
    ),
    (
        "optimizer",
        r"multi_tensor_apply|FusedOptimizer|fused_?adam|adam_?(w|kernel)|sgd_?kernel|fused_?lamb|lamb_kernel",
    ),
    (
        "embedding",
        r"embedding|permute_pooled|permute_(1d|2d)_?(sparse_)?data|bounds_check_indices|linearize_index|split_eb_|fbgemm_gpu::(permute|_block_bucketize)|compute_grad_weight",
    ),
    (
        "layout",
        r"nchwToNhwc|nhwcToNchw|nchwAddPadding|nhwcAddPadding|transpose_?(readWrite|kernel|tile)|batched_transpose|permute_?kernel|TensorTransformation|tensorTransform|cudnn::ops::.*[tT]ransform",
    ),
    (
        "convolution",
        r"conv[^e]|implicit_?gemm|winograd|wgrad|dgrad|fprop|[shi](\d+)?cudnn_|miopen.*conv|im2col|im2d2col|col2im|Conv2D|OffsetsKernel",
    ),
    (
        "gemm",
        r"(^|[^b])gemm|gemv|nvjet|cutlass|xmma|cublas|splitK|matmul|Cijk_|_mm_kernel|ampere_.*_tn|sm\d+_.*_(tn|nn|nt)_|dot_kernel|hipblas|ck::|^fc-dtype",
    ),
    (
        "normalization",
        r"batch_?norm|bn_(fw|bw)|layer_?norm|group_?norm|rms_?norm|instance_?norm|GammaBeta|cunn_.*Norm|bn_bw|bnfw|bnbw",
    ),
    ("softmax", r"softmax|SoftMax|cross_?entropy|nll_loss|log_softmax"),
    ("pooling", r"pool"),
    ("embedding", r"index_?select|index_put|index_add|gather|scatter|index_elementwise|indexing|take_"),
    ("reduction", r"reduce|norm_kernel|vector_norm|sum_kernel|argmax|LpNorm|cumsum|scan"),
    ("sort", r"sort|topk|radix|unique"),
    ("random", r"distribution_|philox|random|dropout|curand|bernoulli"),
    ("memset", r"^Memset|fill_?kernel|FillFunctor|hipMemset|^memset"),
    (
        "copy",
        r"copy_(async_)?kernel|CatArray|direct_copy|Memcpy|^copy|float8_copy|bfloat16_copy|^aten::cat|unrolled_elementwise_kernel.*copy",
    ),
    (
        "elementwise",
        r"elementwise|vectorized|pointwise|Functor|gelu|relu|silu|add_kernel|mul_kernel|foreach|scalePackedTensor|-dtype_",
    ),
)

#: matrix instructions of Volta to Blackwell and of CDNA, as they show in names
TENSOR_CORE = (
    r"(^|[_sh])(884|1688|16816|16832|161616)(\D|$)|tensor\d+x\d+x\d+|hmma|imma|[wqu]gmma|gmma|mma_?sync|tcgen05|nvjet|_tensorop|flash|fmha"
    r"|mfma|Cijk_.*_MI|sm(90|100|103|120)_xmma|cudnn_generated_fort_native_(sdpa|matmul)|bf16_s|f16_s16|tf32"
)

#: plain arithmetic units, whatever else the name says; a fused pointwise kernel carries the names of what it follows
NO_TENSOR_CORE = r"ffma|simt|_f32f32_f32f32_|dfma|d?gemv|^triton_(poi|for|red|per)_"

#: precision of the multiplication, from the name; first match wins. cuBLAS's nvjet and Tensile's Cijk name their input
#: types by letter: q and r are the two 8-bit floats, t and B bfloat16, h and H half, s and S single
PRECISIONS: tuple[tuple[str, str], ...] = (
    ("fp32", r"ffma|simt|_f32f32_f32f32_"),
    ("fp8", r"fp8|e4m3|e5m2|nvjet_(sm\d+_)?[qr][qr]|Cijk_\w+?_F8"),
    ("int8", r"int8|imma|i16832|Cijk_\w+?_I8"),
    ("bf16", r"bf16|bfloat16|nvjet_(sm\d+_)?t|Cijk_\w+?_(BBS|B_?BS|BSS)_"),
    ("fp16", r"fp16|(^|[^b])f16|half|hmma|h884|h1688|h16816|hcudnn|nvjet_(sm\d+_)?h|Cijk_\w+?_(HHS|H_?HS|HSS|HB|HH)_"),
    ("tf32", r"tf32|s1688|_sss_tf|nvjet_(sm\d+_)?s"),
    ("fp16", r"s884|s16816"),
    ("fp64", r"fp64|f64|dgemm|double|d884|Cijk_\w+?_D_?B_"),
    ("fp32", r"sgemm|scudnn|f32|fp32|float|cf32|Cijk_\w+?_S_?B_"),
)


def _first_match(names: pl.Expr, patterns: tuple[tuple[str, str], ...], default: str | None) -> pl.Expr:
    result: pl.Expr = pl.lit(default, dtype=pl.String)
    for label, pattern in reversed(patterns):
        result = (
            pl.when(names.str.contains(f"(?i){pattern}" if label != "collective" else pattern))
            .then(pl.lit(label))
            .otherwise(result)
        )
    return result


def with_kind(frame: pl.DataFrame) -> pl.DataFrame:
    """Add `kind` (Categorical) to a frame with a Categorical `name`; each distinct name is matched once."""
    names = frame.select(pl.col("name").unique()).with_columns(_text=pl.col("name").cast(pl.String))
    kinds = names.select("name", kind=_first_match(pl.col("_text"), KINDS, "other").cast(pl.Categorical))
    return frame.join(kinds, on="name", how="left", maintain_order="left")


def with_matrix_precision(frame: pl.DataFrame) -> pl.DataFrame:
    """Add `tensor_core` (Boolean) and `precision` (String, null where the name does not tell) by distinct name."""
    names = frame.select(pl.col("name").unique()).with_columns(_text=pl.col("name").cast(pl.String))
    told = names.select(
        "name",
        tensor_core=pl.col("_text").str.contains(f"(?i){TENSOR_CORE}") & ~pl.col("_text").str.contains(f"(?i){NO_TENSOR_CORE}"),
        precision=_first_match(pl.col("_text"), PRECISIONS, None),
    )
    return frame.join(told, on="name", how="left", maintain_order="left")
