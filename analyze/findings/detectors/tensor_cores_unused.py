"""Half-precision products run on the plain arithmetic units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.kernel_groups import heaviest_operators, memory_rate, peak
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.findings.saving import digits
from analyze.replay.edits import with_work_duration
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="tensor-cores-unused",
    title="Half-precision products run off the tensor cores",
    meaning=(
        "The tensors are float16 or bfloat16, yet the library chose kernels for the plain units: sizes that are no multiple of "
        "8 elements, an odd memory layout, or bfloat16 on a GPU that has no units for it. The precision is paid for and the "
        "speed is not collected."
    ),
    measured=(
        "Products and convolutions on half-precision tensors whose kernel names say that plain units run them. Saving: their "
        "durations at the ratio of the device's plain and half-precision peak rates, never below their memory traffic; "
        "replayed."
    ),
    fix=(
        Remedy(
            text="Make sizes multiples of 8, better 64: vocabulary, hidden width, channels, classes",
            code="vocabulary = 64 * ((vocabulary + 63) // 64)",
        ),
        Remedy(
            text="Use float16 with a GradScaler on GPUs before Ampere, which have no bfloat16 units",
            code='with torch.autocast("cuda", torch.float16):\n    loss = loss_fn(model(x), y)',
        ),
        Remedy(text="Let the compiler pad", code="model = torch.compile(model)  # inductor pads matrix products"),
    ),
    doc="https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html#requirements-tc",
)

#: names of product kernels for plain units; most kernels on matrix units do not say so, so the name must say the opposite
PLAIN_KERNEL = (
    r"(?i)simt|ffma|_f32f32_f32f32_|convolve_[a-z]*[hs]gemm|(^|_)(fp16_|bf16_)?[hs]gemm[_E]|[hs]cudnn_\d+x|gemmk1|gemmSN|maxwell_"
    # cuDNN's direct convolutions, which few channels in a group lead to
    r"|convolve_common_engine_float|conv\w*_grouped_direct_kernel"
)
#: share of the half-precision peak reached once on the matrix units: odd sizes waste part of it
TENSOR_EFFICIENCY_LOW, TENSOR_EFFICIENCY, TENSOR_EFFICIENCY_HIGH = 0.25, 0.5, 0.75
#: share of the plain peak that plain kernels reach
PLAIN_EFFICIENCY = 0.8
#: share of a product's time left where the device's rates are unknown
UNKNOWN_LEFT_LOW_SHARE, UNKNOWN_LEFT_SHARE, UNKNOWN_LEFT_HIGH_SHARE = 0.15, 0.35, 0.6
#: no product ends sooner
SHORTEST_NS = 3_000.0
#: below this share of the step padding is not worth it
MIN_SHARE = 0.03
HALF = ("bf16", "fp16")


def detect(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    device_rates: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all such products of the window."""
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    plain = _on_plain_units(window, device_rates)
    if plain.is_empty():
        return []
    steps = replay.program.steps
    operators = heaviest_operators(plain, steps)
    spent = number(plain["dur_ns"].sum())
    odd = number(plain.filter(_odd_sizes())["dur_ns"].sum()) / spent
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        _edit(plain, device_rates, TENSOR_EFFICIENCY, UNKNOWN_LEFT_SHARE),
        cautious=_edit(plain, device_rates, TENSOR_EFFICIENCY_LOW, UNKNOWN_LEFT_HIGH_SHARE),
        optimistic=_edit(plain, device_rates, TENSOR_EFFICIENCY_HIGH, UNKNOWN_LEFT_LOW_SHARE),
        min_share=MIN_SHARE,
        message=(
            f"Half-precision products on plain units take {spent / number(window['dur_ns'].sum()):.0%} of the GPU's time "
            f"({digits(spent / steps / 1e6)} ms a step"
            + (f", {odd:.0%} of it in sizes that are no multiple of 8" if odd else "")
            + "); on the tensor cores they would give back {saving}."
        ),
        location=place_of(operators["op_id"][0], cpu_ops, op_sources),
        evidence=operators.drop("op_id"),
        thresholds={"tensor_efficiency": TENSOR_EFFICIENCY, "min_share": MIN_SHARE},
    )


def _on_plain_units(window: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    half = pl.coalesce("element_type", "precision").is_in(HALF)
    says_plain = pl.col("name").cast(pl.String).str.contains(PLAIN_KERNEL)
    # a known device without bfloat16 units emulates it whatever the kernel is called
    lacks = [what for what in HALF if peak(rates, "fp32") is not None and peak(rates, what) is None]
    emulated = pl.coalesce("element_type", "precision").is_in(lacks)
    product = pl.col("kind").cast(pl.String).is_in(["gemm", "convolution"])
    return window.filter(product, half, (says_plain & ~pl.col("tensor_core")) | emulated)


def _odd_sizes() -> pl.Expr:
    return pl.any_horizontal(pl.col(side) % 8 != 0 for side in ("m", "n", "k")).fill_null(value=False)


def _edit(plain: pl.DataFrame, rates: pl.DataFrame, efficiency: float, unknown_left: float) -> Edit:
    single, half = peak(rates, "fp32"), max(peak(rates, "bf16") or 0.0, peak(rates, "fp16") or 0.0)
    left = min(single * PLAIN_EFFICIENCY / (half * efficiency), 1.0) if single and half else unknown_left
    bytes_per_s = memory_rate(rates)
    traffic = (pl.col("bytes") / bytes_per_s * 1e9).fill_null(0.0) if bytes_per_s else pl.lit(0.0)
    new = pl.max_horizontal(pl.col("dur_ns") * left, traffic, pl.lit(SHORTEST_NS))
    changed = plain.select("id", new=pl.min_horizontal(new, pl.col("dur_ns").cast(pl.Float64)))
    return with_work_duration(changed["id"].to_numpy(), changed["new"].to_numpy())
