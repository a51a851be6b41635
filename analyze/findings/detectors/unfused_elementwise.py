"""Chains of small passes over the same tensor, each reading and writing memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.kernel_groups import heaviest_operators
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.replay.edits import combine, with_work_duration, without_calls
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="unfused-elementwise",
    title="Chains of elementwise kernels read and write memory between them",
    meaning=(
        "Activation, scale, mask, dropout, residual, norm: each is a kernel of its own that reads a whole tensor and writes a "
        "whole tensor, and does next to no arithmetic. One fused kernel would keep the values in registers."
    ),
    measured=(
        "Neighbouring elementwise, norm, softmax and reduction kernels on one stream whose tensors have the same number of "
        "elements. Saving: the traffic of the tensors between them, as a share of each kernel's own; the following kernel no "
        "longer reads the tensor, and half of the time the former need not write it either, since backward needs the other "
        "half; replayed. The bounds keep all of these writes, or leave each chain one reading and one writing of its tensor: "
        "often a second operand comes from the same chain, and a compiler computes again what backward needs."
    ),
    fix=(
        Remedy(text="Let the compiler fuse them", code="model = torch.compile(model)"),
        Remedy(
            text="Use the fused operator where there is one: F.layer_norm, F.rms_norm, F.gelu, F.cross_entropy",
            code="y = torch.nn.functional.rms_norm(x, (x.shape[-1],), weight)",
        ),
        Remedy(text="Compile only the function in question", code="@torch.compile\ndef block(x):\n    ..."),
    ),
    doc="https://docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html",
)

#: how much of a tensor between two kernels need not be written: backward may need it
UNWRITTEN_LOW_SHARE, UNWRITTEN_SHARE = 0.0, 0.5
#: passes over its largest tensor that a chain needs at the least: one reads, one writes
LEAST_PASSES_COUNT = 2
#: share of a kernel's time that stays, however much of its traffic goes
LEAST_LEFT_SHARE = 0.1
#: kernels that a compiler joins with their neighbours
FUSABLE_KINDS = ("elementwise", "copy", "normalization", "softmax", "reduction", "random")
#: kernels that are fused already
COMPILED = r"^triton_"
#: compiling has costs of its own: below this share of the step it is not advised
MIN_SHARE = 0.05


def detect(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all chains of the window."""
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    fusable = window.filter(pl.col("kind").cast(pl.String).is_in(FUSABLE_KINDS))
    if not fusable.is_empty() and fusable["largest_elements"].null_count() == fusable.height:
        raise MissingData("no shapes were recorded")
    chained = _chains(window)
    if chained.is_empty():
        return []
    steps = replay.program.steps
    operators = heaviest_operators(chained, steps)
    chains = chained.filter(pl.col("joins_next") & ~pl.col("joined_before")).height / steps
    spent = number(chained["dur_ns"].sum())
    names = operators["op"].cast(pl.String).unique(maintain_order=True).drop_nulls().head(4)
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        _edit(chained, UNWRITTEN_SHARE),
        cautious=_edit(chained, UNWRITTEN_LOW_SHARE),
        optimistic=_one_kernel_each(chained),
        min_share=MIN_SHARE,
        message=(
            f"{chained.height / steps:,.0f} kernels a step in {chains:,.0f} chains over the same tensors ({', '.join(names)} …) "
            f"take {spent / number(window['dur_ns'].sum()):.0%} of the GPU's time; fused they would give back {{saving}}."
        ),
        location=place_of(operators["op_id"][0], cpu_ops, op_sources),
        evidence=operators.drop("op_id", "tflops_per_s"),
        thresholds={"unwritten_share": UNWRITTEN_SHARE, "min_share": MIN_SHARE},
        caveat="torch.compile takes minutes at the first steps and again for each new shape.",
    )


def _chains(window: pl.DataFrame) -> pl.DataFrame:
    """Kernels joined with a neighbour, with `joins_next`, `joined_before` and the shares of their traffic that lie between."""
    lane = ["device", "stream"]
    name = pl.col("name").cast(pl.String)
    fusable = pl.col("kind").cast(pl.String).is_in(FUSABLE_KINDS) & ~name.str.contains(COMPILED)
    ordered = window.sort(*lane, "start_ns").with_columns(fusable=fusable)
    # kernels of one operator belong together already: its author fused what could be
    joins = (
        pl.col("fusable")
        & pl.col("fusable").shift(-1).over(lane)
        & (pl.col("largest_elements") == pl.col("largest_elements").shift(-1).over(lane))
        & (pl.col("op_id") != pl.col("op_id").shift(-1).over(lane))
    )
    between = pl.min_horizontal("largest_bytes", pl.col("largest_bytes").shift(-1).over(lane))
    traffic = pl.coalesce("bytes", "largest_bytes")
    return (
        ordered.with_columns(joins_next=joins.fill_null(value=False), between=between, traffic=traffic)
        .with_columns(
            joined_before=pl.col("joins_next").shift(1).over(lane).fill_null(value=False),
            before=pl.col("between").shift(1).over(lane),
        )
        .filter(pl.col("joins_next") | pl.col("joined_before"))
        .with_columns(
            read_share=pl.when("joined_before").then(pl.col("before") / pl.col("traffic")).otherwise(0.0),
            written_share=pl.when("joins_next").then(pl.col("between") / pl.col("traffic")).otherwise(0.0),
        )
    )


def _one_kernel_each(chained: pl.DataFrame) -> Edit:
    """Each chain as one kernel: what it reads and writes twice stays in registers, and there is one launch."""
    lane = ["device", "stream"]
    opens = pl.col("joins_next") & ~pl.col("joined_before")
    left = (LEAST_PASSES_COUNT * pl.col("largest_bytes").max() / pl.col("traffic").sum()).clip(LEAST_LEFT_SHARE, 1.0)
    fused = chained.group_by(*lane, chain=opens.cum_sum().over(lane), maintain_order=True).agg(
        pl.col("id").first(), new=pl.col("dur_ns").sum() * left
    )
    rest = chained.filter(~opens)["launch_id"].drop_nulls()
    return combine(without_calls(rest.to_numpy()), with_work_duration(fused["id"].to_numpy(), fused["new"].to_numpy()))


def _edit(chained: pl.DataFrame, unwritten: float) -> Edit:
    gone = (pl.col("read_share") + pl.col("written_share") * unwritten).clip(0.0, 1.0 - LEAST_LEFT_SHARE)
    changed = chained.select("id", new=pl.col("dur_ns") * (1.0 - gone))
    return with_work_duration(changed["id"].to_numpy(), changed["new"].to_numpy())
