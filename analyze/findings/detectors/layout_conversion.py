"""Convolutions convert their tensors between memory layouts, and normalisations run in the slow one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.kernel_groups import heaviest_operators, memory_rate
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.findings.saving import digits
from analyze.replay.edits import combine, with_work_duration, without_calls
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="layout-conversion",
    title="Convolutions convert their tensors to another layout and back",
    meaning=(
        "The tensor cores want images with the channels innermost (NHWC, channels_last). Tensors in the default layout (NCHW) "
        "are converted before each convolution and back after it, and batch norm between them runs kernels that are several "
        "times slower than their channels_last versions."
    ),
    measured=(
        "Layout kernels inside convolutions whose input is NCHW, and batch norms on NCHW tensors. Saving: the recorded steps "
        "replayed without the conversions, with each batch norm at its memory traffic (three passes forward, five "
        "backward) and a share of the memory rate that this trace's elementwise kernels reach."
    ),
    fix=(
        Remedy(
            text="Keep the model and its inputs in channels_last",
            code=(
                "model = model.to(memory_format=torch.channels_last)\n"
                "x = x.to(device, memory_format=torch.channels_last, non_blocking=True)"
            ),
        ),
        Remedy(text="Find operators that fall back to NCHW: reshapes and permutes between convolutions; GroupNorm"),
        Remedy(text="Let the compiler choose layouts", code="model = torch.compile(model)"),
    ),
    doc="https://docs.pytorch.org/tutorials/intermediate/memory_format_tutorial.html",
)

#: kernels that change the layout of activations; padding of channels happens in both layouts
CONVERSION = r"(?i)nchw\w*ToNhwc|nhwc\w*ToNchw|batched_transpose|nchw_?2_?nhwc|nhwc_?2_?nchw"
#: batch norm kernels that are the channels_last ones already
NHWC_KERNEL = r"(?i)channels_last|nhwc"
#: passes over the tensor per pass of the plainest traffic (input and output; gradient, input and output)
FORWARD_FACTOR, BACKWARD_FACTOR = 3 / 2, 5 / 3
#: share of the rate of elementwise kernels that channels_last batch norm reaches: its sums run across rows
NORM_EFFICIENCY_LOW, NORM_EFFICIENCY, NORM_EFFICIENCY_HIGH = 0.3, 0.45, 0.7
#: what is left of an NCHW batch norm where no shapes are known
UNKNOWN_LEFT_LOW_SHARE, UNKNOWN_LEFT_SHARE, UNKNOWN_LEFT_HIGH_SHARE = 0.4, 0.7, 1.0
#: share of the convolutions' time below which conversions are left-overs, not the setting
MIN_CONVERSION_SHARE = 0.05
#: below this share of the step the layout is not worth changing
MIN_SHARE = 0.03


def detect(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    device_rates: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all conversions of the window and the batch norms beside them."""
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    operator = pl.col("op").cast(pl.String)
    convolving = window.filter(operator.str.contains("conv") & ~operator.str.contains("convert"), ~_channels_last())
    conversions = convolving.filter(pl.col("name").cast(pl.String).str.contains(CONVERSION))
    converting_ns = number(conversions["dur_ns"].sum())
    if conversions.is_empty() or converting_ns < MIN_CONVERSION_SHARE * number(convolving["dur_ns"].sum()):
        return []
    norms = window.filter(
        operator.str.contains("batch_norm"), ~_channels_last(), ~pl.col("name").cast(pl.String).str.contains(NHWC_KERNEL)
    )
    rate = memory_rate(device_rates)
    steps = replay.program.steps
    operators = heaviest_operators(conversions, steps)
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        _edit(conversions, norms, rate, NORM_EFFICIENCY, UNKNOWN_LEFT_SHARE),
        cautious=_edit(conversions, norms, rate, NORM_EFFICIENCY_LOW, UNKNOWN_LEFT_HIGH_SHARE),
        optimistic=_edit(conversions, norms, rate, NORM_EFFICIENCY_HIGH, UNKNOWN_LEFT_LOW_SHARE),
        min_share=MIN_SHARE,
        message=(
            f"{conversions.height / steps:,.0f} kernels a step ({digits(converting_ns / steps / 1e6)} ms) convert NCHW "
            "tensors for "
            f"convolutions and back, and batch norm spends {digits(number(norms['dur_ns'].sum()) / steps / 1e6)} ms in NCHW; "
            "channels_last would give back {saving}."
        ),
        location=place_of(operators["op_id"][0], cpu_ops, op_sources),
        evidence=pl.concat([operators, heaviest_operators(norms, steps)]).drop("op_id", "tflops_per_s"),
        thresholds={"norm_efficiency": NORM_EFFICIENCY, "min_conversion_share": MIN_CONVERSION_SHARE, "min_share": MIN_SHARE},
    )


def _channels_last() -> pl.Expr:
    """Whether the operator's first tensor has its channels innermost; False where strides or sizes do not tell."""
    strides = pl.col("input_strides").cast(pl.String).str.extract(r"^\[\[(\d+(?:, \d+){3,4})\]").str.split(", ")
    channels = pl.col("input_shapes").cast(pl.String).str.extract(r"^\[\[\d+, (\d+)")
    told = (strides.list.get(1) == "1") & (strides.list.last() != "1") & (channels != "1")
    return told.fill_null(value=False)


def _edit(
    conversions: pl.DataFrame, norms: pl.DataFrame, bytes_per_s: float | None, efficiency: float, unknown_left: float
) -> Edit:
    passes = pl.when(pl.col("op").cast(pl.String).str.contains("backward")).then(BACKWARD_FACTOR).otherwise(FORWARD_FACTOR)
    modelled = pl.col("bytes") * passes / (bytes_per_s * efficiency) * 1e9 if bytes_per_s else pl.lit(None, dtype=pl.Float64)
    new = norms.select("id", new=pl.min_horizontal(pl.coalesce(modelled, pl.col("dur_ns") * unknown_left), "dur_ns"))
    return combine(
        without_calls(conversions["launch_id"].drop_nulls().to_numpy()),
        with_work_duration(new["id"].to_numpy(), new["new"].cast(pl.Float64).to_numpy()),
    )
