"""A Python loop runs the same few operators over and over on small pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.pieces import freeing, longer_than_peers, splits_and_joins
from analyze.findings.places import place_of
from analyze.findings.saving import replayed
from analyze.intervals import merge, of_frame, union
from analyze.replay.edits import combine, with_work_scaled, without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="many-tiny-ops",
    title="A Python loop runs many tiny operators",
    meaning=(
        "The same short sequence of operators runs once per sample, time step or parameter, on pieces too small to occupy the "
        "GPU. Each iteration costs its launches; as one operator on the whole tensor it would cost them once."
    ),
    measured=(
        "Stretches of a step in which a sequence of top-level operators repeats at least 32 times and starts small device work. "
        "Saving: the recorded steps replayed with each loop as a few operators on everything at once, without the operators "
        "that cut the pieces before it and join them after it."
    ),
    fix=(
        Remedy(
            text="Work on the whole tensor", code="x = (x - mean[:, None, None]) / std[:, None, None]   # no loop over samples"
        ),
        Remedy(text="Map over the batch dimension", code="y = torch.vmap(per_sample)(x)"),
        Remedy(text="For loops over parameters, the foreach functions", code="torch._foreach_mul_(grads, scale)"),
        Remedy(text="Where the loop must stay (a recurrence), compile it", code="step = torch.compile(step)"),
    ),
    doc="https://docs.pytorch.org/docs/stable/generated/torch.vmap.html",
)

#: work larger than this on average fills the device by itself
MAX_MEAN_KERNEL_NS = 50_000
#: an operator on the host that takes longer on average does work worth its dispatch
MAX_MEAN_HOST_OP_NS = 40_000
OPTIMIZER = r"^Optimizer\.(step|zero_grad)#"
#: a loop must launch this often to be worth a vectorised version
MIN_LAUNCHES = 64
#: kinds that make a repeating sequence the layers of a model rather than a loop over data
LAYER_KINDS = ("attention", "convolution", "gemm", "normalization")
#: host time that stays, in iterations: an operator on everything checks and dispatches like one on a piece
LEFT_ITERATIONS_COUNT, CAUTIOUS_LEFT_SHARE = 2.0, 0.15
#: device time that stays: small kernels take a few microseconds whatever they do
LEFT_DEVICE_TIME_SHARE = 0.2


def detect(
    replay: Replay,
    op_loops: pl.DataFrame,
    cpu_ops: pl.DataFrame,
    kernels: pl.DataFrame | None = None,
    annotations: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all such loops of the window, outside the optimizer and the loader (findings of their own)."""
    loops = _on_device(op_loops) if kernels is not None else _on_host(op_loops)
    if annotations is not None:
        calls = annotations.filter(~pl.col("on_device"), pl.col("name").cast(pl.String).str.contains(OPTIMIZER))
        loops = _outside(loops, calls)
    if input_wait is not None:
        loops = _outside(loops, input_wait)
    if loops.is_empty():
        return []
    largest = loops.sort("dur_ns", descending=True, maintain_order=True).row(0, named=True)
    per_step = number((loops["repeats"] * loops["period"]).sum()) / replay.program.steps
    whole = combine(_vectorised(loops, None), _without_pieces(loops, cpu_ops))
    return replayed(
        DETECTOR.id,
        replay,
        whole,
        cautious=_vectorised(loops, CAUTIOUS_LEFT_SHARE),
        # threads that compute fell asleep beside the loop, and wake for the operator after it, if that is why it is slow
        optimistic=combine(whole, without_host_regions(longer_than_peers(loops, cpu_ops))) if kernels is None else None,
        host_side=True,
        message=(
            f"A loop of {largest['repeats']} iterations ({largest['operators']}) and others like it run {per_step:,.0f} small "
            "operators a step; on whole tensors they would give back {saving}."
        ),
        location=place_of(largest["first_op_id"], cpu_ops, op_sources),
        evidence=loops.sort("dur_ns", descending=True, maintain_order=True).head(50),
        thresholds={"max_mean_kernel_ns": MAX_MEAN_KERNEL_NS, "min_launches": MIN_LAUNCHES},
    )


def _on_device(loops: pl.DataFrame) -> pl.DataFrame:
    return loops.filter(
        pl.col("launches") >= MIN_LAUNCHES,
        # where each iteration waits for the device, the wait is the finding
        pl.col("waits") < pl.col("repeats") / 2,
        pl.col("device_ns") <= MAX_MEAN_KERNEL_NS * pl.col("launches"),
        ~pl.any_horizontal(pl.col("kinds").str.contains(kind) for kind in LAYER_KINDS),
    )


def _on_host(loops: pl.DataFrame) -> pl.DataFrame:
    """Without a device the operators do the work themselves: small is what takes little time."""
    calls = pl.col("repeats") * pl.col("period")
    return loops.filter(calls >= MIN_LAUNCHES, pl.col("dur_ns") <= MAX_MEAN_HOST_OP_NS * calls)


def _outside(loops: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    bounds = spans.select("start_ns", until=pl.col("start_ns") + pl.col("dur_ns")).sort("start_ns")
    inside = loops.sort("start_ns").join_asof(bounds, on="start_ns", strategy="backward")
    return inside.filter((pl.col("start_ns") >= pl.col("until")).fill_null(value=True)).drop("until")


def _without_pieces(loops: pl.DataFrame, cpu_ops: pl.DataFrame) -> Edit:
    """What works on the whole needs no pieces: no operator that cuts or joins them, nothing in between, none to free."""
    end = pl.col("start_ns") + pl.col("dur_ns")
    bounds = loops.select("start_ns", end_ns=end).sort("start_ns")
    splits, joins = splits_and_joins(loops, cpu_ops)
    before = splits.sort("start_ns").join_asof(
        bounds, left_on="start_ns", right_on="start_ns", strategy="forward", coalesce=False
    )
    after = joins.sort("start_ns").join_asof(bounds, left_on="start_ns", right_on="end_ns", strategy="backward")
    cut = merge(before["start_ns"].to_numpy(), before["start_ns_right"].to_numpy())
    joined = merge(after["end_ns"].to_numpy(), after.select(end)["start_ns"].to_numpy())
    making_ns = number((loops["dur_ns"] / loops["period"]).max())
    return without_host_regions(union(cut, joined, freeing(joins, cpu_ops, making_ns)))


def _vectorised(loops: pl.DataFrame, left_share: float | None) -> Edit:
    """Each loop keeps LEFT_ITERATIONS_COUNT iterations' host time, or a fixed share; its device time shrinks."""
    shares = loops.with_columns(share=pl.lit(left_share) if left_share else LEFT_ITERATIONS_COUNT / pl.col("repeats"))
    edits = [
        without_host_regions(of_frame(mine), keep_share=number(share[0]), keep_work=True)
        for share, mine in shares.group_by(pl.col("share").round(3), maintain_order=True)
    ]
    return combine(*edits, with_work_scaled(of_frame(loops), LEFT_DEVICE_TIME_SHARE))
