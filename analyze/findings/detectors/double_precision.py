"""The model computes in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.kernel_groups import heaviest_operators, memory_rate, peak
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.findings.saving import digits, modelled
from analyze.replay.edits import with_work_duration
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="double-precision",
    title="The model computes in float64",
    meaning=(
        "Tensors are double precision, mostly by accident: NumPy arrays are float64, and one such tensor makes everything it "
        "meets float64. Every pass moves twice the bytes, and most GPUs and libraries multiply doubles far more slowly. "
        "Training hardly ever needs it."
    ),
    measured=(
        "Kernels (on a CPU-only run: operators) whose tensors are float64. Saving: passes over tensors at half their bytes, "
        "products at the ratio of the device's peak rates for float64 and float32, convolutions at TF32, their default; "
        "replayed. On a CPU half of the operators' time, more for convolutions, which have no fast float64 version."
    ),
    fix=(
        Remedy(text="Convert data where it enters", code="x = torch.from_numpy(array).float()"),
        Remedy(text="Build the model in float32 (the default) and cast it once", code="model = model.float()"),
        Remedy(
            text="Find who asked for it", code='assert torch.get_default_dtype() == torch.float32  # .double(), dtype="float64"'
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype",
)

#: share of a pass that is left in float32: half the bytes; little less where it is bound by arithmetic
PASS_LEFT_LOW_SHARE, PASS_LEFT_SHARE, PASS_LEFT_HIGH_SHARE = 0.4, 0.5, 0.65
#: share of a product's time left where the device's rates are unknown
UNKNOWN_LEFT_LOW_SHARE, UNKNOWN_LEFT_SHARE, UNKNOWN_LEFT_HIGH_SHARE = 0.1, 0.4, 0.6
#: how much longer or shorter a product may take than the peak rates say: float64 seldom reaches its peak
PRODUCT_SPREAD_FACTOR = 2.0
#: no kernel ends sooner
SHORTEST_NS = 2_000.0
#: share of an operator's own time left on a CPU: vectors hold twice the numbers
CPU_LEFT_LOW_SHARE, CPU_LEFT_SHARE, CPU_LEFT_HIGH_SHARE = 0.3, 0.5, 0.7
#: the same for convolutions, which run without a library in float64
CPU_CONVOLUTION_LEFT_LOW_SHARE, CPU_CONVOLUTION_LEFT_SHARE, CPU_CONVOLUTION_LEFT_HIGH_SHARE = 0.2, 0.35, 0.55
#: below this share of the step it is one small computation, perhaps on purpose
MIN_SHARE = 0.05
#: kernels that multiply
PRODUCT_KINDS = ("gemm", "convolution", "attention")


def detect(
    replay: Replay | None = None,
    kernel_arithmetic: pl.DataFrame | None = None,
    device_rates: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_costs: pl.DataFrame | None = None,
    step_time: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for the kernels, else for the operators of a run without a device."""
    if replay is not None and kernel_arithmetic is not None and device_rates is not None:
        return _on_device(replay, kernel_arithmetic, device_rates, cpu_ops, op_sources)
    if kernel_arithmetic is not None or cpu_ops is None or op_costs is None or step_time is None:
        raise MissingData("no shapes and types were recorded")
    return _on_host(cpu_ops, op_costs, step_time, op_sources)


def _on_device(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    device_rates: pl.DataFrame,
    cpu_ops: pl.DataFrame | None,
    op_sources: pl.DataFrame | None,
) -> list[Finding]:
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    by_name = pl.col("element_type").is_null() & pl.col("kind").cast(pl.String).is_in(PRODUCT_KINDS)
    double = window.filter((pl.col("element_type") == "fp64") | (by_name & (pl.col("precision") == "fp64")))
    if double.is_empty():
        return []
    steps, spread = replay.program.steps, PRODUCT_SPREAD_FACTOR
    operators = heaviest_operators(double, steps)
    spent = number(double["dur_ns"].sum())
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        _edit(double, device_rates, PASS_LEFT_SHARE, 1.0, UNKNOWN_LEFT_SHARE),
        cautious=_edit(double, device_rates, PASS_LEFT_HIGH_SHARE, spread, UNKNOWN_LEFT_HIGH_SHARE),
        optimistic=_edit(double, device_rates, PASS_LEFT_LOW_SHARE, 1 / spread, UNKNOWN_LEFT_LOW_SHARE),
        min_share=MIN_SHARE,
        message=(
            f"Kernels on float64 take {spent / number(window['dur_ns'].sum()):.0%} of the GPU's time "
            f"({digits(spent / steps / 1e6)} ms a step); in float32 they would give back {{saving}}."
        ),
        location=place_of(operators["op_id"][0], cpu_ops, op_sources),
        evidence=operators.drop("op_id"),
        thresholds={"min_share": MIN_SHARE, "pass_left_share": PASS_LEFT_SHARE},
        caveat="Keep float64 where the method needs it, such as long sums in physics; autocast or TF32 give more still.",
    )


def _edit(double: pl.DataFrame, rates: pl.DataFrame, pass_left: float, spread: float, unknown_left: float) -> Edit:
    fp64, fp32 = peak(rates, "fp64"), peak(rates, "fp32")
    tf32, bytes_per_s = peak(rates, "tf32") or fp32, memory_rate(rates)
    kind = pl.col("kind").cast(pl.String)
    if fp64 and fp32 and tf32:
        convolves = (kind == "convolution") | pl.col("op").cast(pl.String).str.contains("conv").fill_null(value=False)
        left = pl.when(convolves).then(min(fp64 / tf32 * spread, 1.0)).otherwise(min(fp64 / fp32 * spread, 1.0))
    else:
        left = pl.lit(unknown_left)
    traffic = (pl.col("bytes") / 2 / bytes_per_s * 1e9).fill_null(0.0) if bytes_per_s else pl.lit(0.0)
    product = pl.max_horizontal(pl.col("dur_ns") * left, traffic)
    # a pass bound by memory halves; one bound by float64 arithmetic shrinks to its traffic
    passing = pl.min_horizontal(
        pl.col("dur_ns") * pass_left, pl.when(pl.col("bytes").is_not_null() & (traffic > 0)).then(traffic)
    )
    new = pl.when(kind.is_in(PRODUCT_KINDS)).then(product).otherwise(passing)
    changed = double.select(
        "id", new=pl.min_horizontal(pl.max_horizontal(new, pl.lit(SHORTEST_NS)), pl.col("dur_ns").cast(pl.Float64))
    )
    return with_work_duration(changed["id"].to_numpy(), changed["new"].to_numpy())


def _on_host(
    cpu_ops: pl.DataFrame, op_costs: pl.DataFrame, step_time: pl.DataFrame, op_sources: pl.DataFrame | None
) -> list[Finding]:
    double = cpu_ops.drop_nulls("step").join(op_costs.filter(pl.col("element_type") == "fp64").select("id"), on="id", how="semi")
    recorded = step_time.filter("profiled")
    if double.is_empty() or recorded.is_empty():
        return []
    profiled_ns, steps = number(recorded["step_ns"].sum()), recorded.height
    unprofiled = step_time.filter(~pl.col("profiled"))["step_ns"].mean()
    step_ns = number(unprofiled) if unprofiled is not None else profiled_ns / steps
    # threads of a CPU-only step take turns: autograd's runs while the main one waits
    own = double.with_columns(convolves=pl.col("name").cast(pl.String).str.contains("conv"))
    share = {flag: number(own.filter(pl.col("convolves") == flag)["self_ns"].sum()) / profiled_ns for flag in (False, True)}
    low, usual, high = (
        (share[False] * (1 - passes) + share[True] * (1 - convolutions)) * step_ns
        for passes, convolutions in (
            (CPU_LEFT_HIGH_SHARE, CPU_CONVOLUTION_LEFT_HIGH_SHARE),
            (CPU_LEFT_SHARE, CPU_CONVOLUTION_LEFT_SHARE),
            (CPU_LEFT_LOW_SHARE, CPU_CONVOLUTION_LEFT_LOW_SHARE),
        )
    )
    heaviest = (
        own.group_by("name", "input_shapes", maintain_order=True)
        .agg(self_per_step_ns=pl.col("self_ns").sum() / steps, calls_per_step=pl.len() / steps, op_id=pl.col("id").first())
        .sort("self_per_step_ns", descending=True, maintain_order=True)
    )
    return modelled(
        DETECTOR.id,
        step_ns,
        saving_ns=usual,
        low_ns=low,
        high_ns=high,
        min_share=MIN_SHARE,
        message=(
            f"Operators on float64 tensors take {min(sum(share.values()), 1.0):.0%} of the step; in float32 they would give back "
            "{saving}."
        ),
        location=place_of(heaviest["op_id"][0], cpu_ops, op_sources),
        evidence=heaviest.head(20).drop("op_id"),
        thresholds={"min_share": MIN_SHARE, "cpu_left_share": CPU_LEFT_SHARE},
    )
