"""Layout conversions are found around convolutions on NCHW tensors, and not where channels are innermost."""

from __future__ import annotations

import pytest

from tests.findings.recorded import MS, Op, findings, one, recorded

ID = "layout-conversion"
IMAGE, WEIGHT = [64, 256, 56, 56], [256, 256, 3, 3]
NCHW, NHWC = [802816, 3136, 56, 1], [802816, 1, 14336, 256]
BF16 = "c10::BFloat16"
TO_NHWC = "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16>"
TO_NCHW = "void cudnn::engines_precompiled::nhwcToNchwKernel<__nv_bfloat16>"
CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc"
#: 64 x 256 x 56 x 56 elements of two bytes
IMAGE_BYTES = 102_760_448
#: no elementwise pass shows this trace's rate: 0.8 of the A100's 2,039 GB/s
RATE = 0.8 * 2_039e9


def convolution(*conversions: tuple[str, float], strides: object = NCHW) -> Op:
    return Op(
        name="aten::cudnn_convolution",
        kernels=[*conversions, (CONVOLUTION, 2.0)],
        shapes=[IMAGE, WEIGHT, [], [], []],
        types=[BF16, BF16, "ScalarList", "ScalarList", "ScalarList"],
        strides=None if strides is None else [strides, [2304, 9, 3, 1], [], [], []],
    )


def batch_norm(dur_ms: float, *, backward: bool = False, strides: object = NCHW) -> Op:
    tensors = [IMAGE, IMAGE, [256]] if backward else [IMAGE, [256]]
    return Op(
        name="aten::native_batch_norm_backward" if backward else "aten::native_batch_norm",
        kernels=[("void at::native::batch_norm_transform_input_kernel<c10::BFloat16, float>", dur_ms)],
        shapes=tensors,
        types=[BF16] * (len(tensors) - 1) + ["float"],
        strides=[strides] * (len(tensors) - 1) + [[1]],
    )


CONVERTING = convolution((TO_NHWC, 0.5), (TO_NCHW, 0.5))


def test_conversions_vanish_and_batch_norms_take_their_traffic() -> None:
    finding = one(recorded(CONVERTING, batch_norm(5.0), batch_norm(9.0, backward=True)), ID)
    forward_ns = 3 * IMAGE_BYTES / (RATE * 0.45) * 1e9
    backward_ns = 5 * IMAGE_BYTES / (RATE * 0.45) * 1e9
    assert finding.step_saving_ns == pytest.approx(1 * MS + (5 * MS - forward_ns) + (9 * MS - backward_ns), rel=0.01)
    # at 0.3 of the rate the batch norms take half as long again
    cautious = 1 * MS + (5 * MS - 1.5 * forward_ns) + (9 * MS - 1.5 * backward_ns)
    assert finding.step_saving_low_ns == pytest.approx(cautious * 0.97, rel=0.02)
    assert finding.step_saving_high_ns > finding.step_saving_ns
    assert finding.basis == "modelled"
    assert "2 kernels a step (1 ms)" in finding.message
    assert "14 ms in NCHW" in finding.message
    assert finding.location.startswith("aten::cudnn_convolution [[64, 256, 56, 56]")


def test_a_batch_norm_faster_than_the_model_stays_as_it_is() -> None:
    finding = one(recorded(CONVERTING, batch_norm(0.1)), ID)
    assert finding.step_saving_ns == pytest.approx(1 * MS, rel=0.01)


def test_the_rate_is_the_one_that_elementwise_kernels_reach() -> None:
    passing = Op(
        name="aten::relu",
        kernels=[("vectorized_elementwise_kernel<relu>", 2 * IMAGE_BYTES / 1.0e12 * 1e3)],
        shapes=[IMAGE],
        types=[BF16],
    )
    finding = one(recorded(CONVERTING, batch_norm(5.0), passing), ID)
    assert finding.step_saving_ns == pytest.approx(6 * MS - 3 * IMAGE_BYTES / (1.0e12 * 0.45) * 1e9, rel=0.01)


def test_without_strides_the_conversions_alone_tell() -> None:
    finding = one(recorded(convolution((TO_NHWC, 0.5), (TO_NCHW, 0.5), strides=None)), ID)
    assert finding.step_saving_ns == pytest.approx(1 * MS, rel=0.01)


def test_silent_in_channels_last() -> None:
    padded = ("void nhwcAddPaddingKernel<__nv_bfloat16>", 0.5)
    recording = recorded(convolution(padded, strides=NHWC), batch_norm(5.0, strides=NHWC))
    assert findings(recording, ID) == ()


def test_silent_where_a_channels_last_convolution_converts_its_weight() -> None:
    assert findings(recorded(convolution((TO_NHWC, 0.5), strides=NHWC), batch_norm(5.0)), ID) == ()


def test_silent_where_convolutions_take_nchw_without_converting() -> None:
    assert findings(recorded(convolution(), batch_norm(5.0)), ID) == ()


def test_a_few_left_over_conversions_are_not_the_setting() -> None:
    few = convolution((TO_NHWC, 0.02))
    assert findings(recorded(few, *[convolution()] * 4, batch_norm(5.0)), ID) == ()


def test_a_small_share_of_the_step_is_not_worth_changing() -> None:
    other = Op(name="aten::sort", kernels=[("radix_sort_kernel", 100.0)])
    assert findings(recorded(CONVERTING, other), ID) == ()


def test_a_permute_outside_convolutions_is_another_matter() -> None:
    transpose = Op(name="aten::copy_", kernels=[("batched_transpose_kernel", 5.0)], shapes=[IMAGE, IMAGE], types=[BF16, BF16])
    assert findings(recorded(transpose, convolution()), ID) == ()
