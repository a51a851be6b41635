"""Matrix products run in full single precision, on the plain arithmetic units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.kernel_groups import heaviest_operators, memory_rate, peak, reached
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.findings.saving import digits
from analyze.replay.added_cost import with_added_cost
from analyze.replay.edits import combine, with_work_duration
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="full-precision-matmul",
    title="Matrix products run in full fp32",
    meaning=(
        "The multiplications run in IEEE single precision on the GPU's plain units while its matrix units (tensor cores), "
        "several times faster, stand idle. Nearly all networks train as well with bfloat16 under autocast, or with TF32, "
        "which keeps fp32 tensors and only rounds the factors of each product."
    ),
    measured=(
        "Products, convolutions and attention whose kernels multiply fp32 on plain units. Saving: their durations at the "
        "half-precision rate, from the device's peak rates and the rate that this trace reaches, never below their memory "
        "traffic, with the casts that autocast adds; replayed, so that what the host holds up stays. The lower bound is TF32 "
        "alone, or half precision at a poor rate where the device has no TF32."
    ),
    fix=(
        Remedy(text="Allow TF32: one line, tensors stay fp32", code='torch.set_float32_matmul_precision("high")'),
        Remedy(
            text="Train in bfloat16 under autocast (float16 with a GradScaler on GPUs before Ampere)",
            code='with torch.autocast("cuda", torch.bfloat16):\n    loss = loss_fn(model(x), y)',
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices",
)

#: share of the peak rate that large half-precision products reach: cuBLAS on A100 and H100 0.7 to 0.83
HALF_EFFICIENCY, HALF_EFFICIENCY_HIGH = 0.75, 0.85
#: the same for TF32, and for half precision on devices without it
CAUTIOUS_EFFICIENCY = 0.55
#: share of the fp32 peak reached, where no shapes say it
USUAL_FP32_EFFICIENCY = 0.8
#: how much faster products become on a device whose rates are unknown: least, usual, most over all tensor-core devices
UNKNOWN_FACTOR_LOW, UNKNOWN_FACTOR, UNKNOWN_FACTOR_HIGH = 2.0, 5.0, 12.0
#: convolutions and fused attention gain less than products, as a factor on the new time
NEW_TIME_FACTOR = {"gemm": 1.0, "convolution": 1.5, "attention": 2.0}
#: no kernel of a product ends sooner
SHORTEST_NS = 3_000.0
#: autocast casts factors and gradients: bytes per element of the middle-sized matrix of each product
CAST_BYTES = 5.0
#: each product brings one or two casts, which take the device at least this long
CAST_NS = 2_500.0
#: host time of the casts per product, ns
CAST_HOST_NS = 12_000.0
#: what passes over fp32 tensors take when half of them become half as large
PASSES_LEFT_SHARE, PASSES_LEFT_LOW_SHARE = 0.75, 0.5
#: products with a vector are bound by memory; helpers of a product multiply nothing
NOT_A_PRODUCT = "(?i)gemv|reduce|workspace|dot_kernel"
#: kernels that become shorter with their tensors
PASSING_KINDS = ("elementwise", "copy", "reduction")
#: below this share of the step the setting is not worth changing
MIN_SHARE = 0.03


@dataclass(frozen=True, kw_only=True)
class _Target:
    """A way to run the products: time as a share of now, what passes take, and what casts cost."""

    ratio: float
    passes_left: float = 1.0
    cast_bytes: float = 0.0
    cast_ns: float = 0.0
    host_ns: float = 0.0


def detect(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    device_rates: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all products in full fp32 of the window."""
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    slow = _full_precision(window)
    if slow.is_empty():
        return []
    bytes_per_s = memory_rate(device_rates)
    passes = window.filter(pl.col("kind").cast(pl.String).is_in(PASSING_KINDS), pl.col("element_type") == "fp32")
    cautious, usual, optimistic = (_edit(slow, passes, target, bytes_per_s) for target in _targets(device_rates))
    steps = replay.program.steps
    tf32 = peak(device_rates, "tf32") is not None
    # small products lose to the casts what they gain
    tf32_claimed = tf32 and replay.step_after(cautious) < replay.step_after(usual)
    way = "with TF32" if tf32_claimed else "under autocast"
    operators = heaviest_operators(slow, steps)
    slow_ns = number(slow["dur_ns"].sum())
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        cautious if tf32_claimed else usual,
        cautious=usual if tf32_claimed else cautious,
        optimistic=optimistic,
        min_share=MIN_SHARE,
        message=(
            f"Products in full fp32, off the tensor cores, take {slow_ns / number(window['dur_ns'].sum()):.0%} of the GPU's time "
            f"({digits(slow_ns / steps / 1e6)} ms a step); {way} they would give back {{saving}}"
            + ("; TF32 alone, one line, the lower figure." if tf32 and not tf32_claimed else ".")
        ),
        location=place_of(operators["op_id"][0], cpu_ops, op_sources),
        evidence=operators.drop("op_id"),
        thresholds={"half_efficiency": HALF_EFFICIENCY, "min_share": MIN_SHARE},
        caveat="Autocast and TF32 round the factors of products: compare the loss over a few hundred steps.",
    )


def _full_precision(window: pl.DataFrame) -> pl.DataFrame:
    """Products at fp32 off the matrix units, less those that the libraries chose to run so although TF32 is allowed.

    TF32 is allowed separately for convolutions and for other products, and shows in the greater part of their time.
    Memory-bound products with a vector would gain nothing.
    """
    kind, name = pl.col("kind").cast(pl.String), pl.col("name").cast(pl.String)
    fp32_tensors = pl.col("element_type").is_null() | (pl.col("element_type") == "fp32")
    multiplying = window.filter(kind.is_in(list(NEW_TIME_FACTOR)), fp32_tensors, ~name.str.contains(NOT_A_PRODUCT)).with_columns(
        plain=(pl.col("precision") == "fp32") & (~pl.col("tensor_core") | (kind == "attention")),
        convolves=(kind == "convolution") | pl.col("op").cast(pl.String).str.contains("conv").fill_null(value=False),
    )
    plain_ns = pl.when("plain").then(pl.col("dur_ns")).otherwise(0).sum().over("convolves")
    return multiplying.filter("plain", 2 * plain_ns > pl.col("dur_ns").sum().over("convolves"))


def _targets(rates: pl.DataFrame) -> tuple[_Target, _Target, _Target]:
    """Cautious, usual and optimistic."""
    now = reached(rates, "fp32") or (peak(rates, "fp32") or 0) * USUAL_FP32_EFFICIENCY
    half, tf32 = max(peak(rates, "bf16") or 0, peak(rates, "fp16") or 0), peak(rates, "tf32")
    if not now or not half:
        ratios = (1 / UNKNOWN_FACTOR_LOW, 1 / UNKNOWN_FACTOR, 1 / UNKNOWN_FACTOR_HIGH)
    else:
        ratios = (
            now / ((tf32 or half) * CAUTIOUS_EFFICIENCY), now / (half * HALF_EFFICIENCY), now / (half * HALF_EFFICIENCY_HIGH),
        )  # fmt: skip
    least, usual, most = (min(ratio, 1.0) for ratio in ratios)
    cautious = (
        _Target(ratio=least) if tf32 else _Target(ratio=least, cast_bytes=CAST_BYTES, cast_ns=CAST_NS, host_ns=CAST_HOST_NS)
    )
    return (
        cautious,
        _Target(ratio=usual, passes_left=PASSES_LEFT_SHARE, cast_bytes=CAST_BYTES, cast_ns=CAST_NS, host_ns=CAST_HOST_NS),
        _Target(ratio=most, passes_left=PASSES_LEFT_LOW_SHARE),
    )


def _edit(slow: pl.DataFrame, passes: pl.DataFrame, target: _Target, bytes_per_s: float | None) -> Edit:
    gain = pl.col("kind").cast(pl.String).replace_strict(NEW_TIME_FACTOR, return_dtype=pl.Float64)
    m, n, k, batch = (pl.col(name).cast(pl.Float64) for name in ("m", "n", "k", "batch"))
    middle = (m * n + n * k + m * k) - pl.max_horizontal(m * n, n * k, m * k) - pl.min_horizontal(m * n, n * k, m * k)
    per_byte_ns = 1e9 / bytes_per_s if bytes_per_s else 0.0
    # half-precision operands halve the traffic
    traffic = (pl.col("bytes") / 2 * per_byte_ns).fill_null(0.0)
    casts = pl.max_horizontal((middle * batch * target.cast_bytes * per_byte_ns).fill_null(0.0), pl.lit(target.cast_ns))
    new = pl.max_horizontal(pl.col("dur_ns") * target.ratio * gain, traffic, pl.lit(SHORTEST_NS)) + casts
    changed = pl.concat(
        [
            slow.select("id", new=pl.min_horizontal(new, pl.col("dur_ns").cast(pl.Float64))),
            passes.select("id", new=pl.col("dur_ns") * target.passes_left),
        ]
    )
    return combine(
        with_work_duration(changed["id"].to_numpy(), changed["new"].to_numpy()),
        with_added_cost(slow["launch_id"].drop_nulls().to_numpy(), target.host_ns),
    )
