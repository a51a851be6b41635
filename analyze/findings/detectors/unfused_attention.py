"""Attention is computed as product, softmax, product, with the score matrix in memory between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.kernel_groups import heaviest_operators, peak
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.findings.saving import digits
from analyze.replay.edits import combine, with_work_duration, without_calls
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="unfused-attention",
    title="Attention writes its score matrix to memory",
    meaning=(
        "Scores of every query with every key are written by one product, scaled, masked, passed through softmax and dropout, "
        "and read by a second product, each a pass over a matrix that grows with the square of the sequence. Fused attention "
        "(FlashAttention) never writes it, and saves most of the activation memory too."
    ),
    measured=(
        "Batched products with a softmax between them, whose sizes fit the softmax's. Saving: the recorded steps replayed "
        "without the passes over the scores, and with the products at the share of the peak rate that fused attention "
        "reaches, the recomputation in backward included. The bounds are a poor and a good share, the latter with a causal "
        "mask skipped."
    ),
    fix=(
        Remedy(
            text="Use PyTorch's fused attention",
            code="out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)",
        ),
        Remedy(
            text="In Hugging Face models, ask for it",
            code='model = AutoModel.from_pretrained(name, attn_implementation="sdpa")',
        ),
        Remedy(
            text="For masks and biases of your own, FlexAttention compiles a fused kernel",
            code="out = torch.compile(flex_attention)(q, k, v, score_mod=score_mod)",
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html",
)

#: share of the precision's peak rate that fused attention reaches: short sequences, usual, long ones
FUSED_EFFICIENCY_LOW, FUSED_EFFICIENCY, FUSED_EFFICIENCY_HIGH = 0.15, 0.35, 0.6
#: fused backward computes the scores again: six products instead of five over forward and backward
RECOMPUTE_FACTOR = 7 / 6
#: a causal mask lets half of the work go, where the fused kernel is told of it
CAUSAL_LEFT_SHARE = 0.5
#: the products' time as a share of now, where rates or shapes are unknown
UNKNOWN_LEFT_LOW_SHARE, UNKNOWN_LEFT_SHARE, UNKNOWN_LEFT_HIGH_SHARE = 0.5, 1.0, 1.5
#: below this share of the step there is little to gain
MIN_SHARE = 0.03
PRODUCTS = ("aten::bmm", "aten::baddbmm", "aten::baddbmm_")
SOFTMAX = ("aten::_softmax", "aten::_softmax_backward_data", "aten::_safe_softmax", "aten::softmax")
#: kernels that may stand between the products; copies that merge heads have other sizes
PASSING_KINDS = ("elementwise", "copy", "softmax", "random", "reduction", "memset", "other")


def detect(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    device_rates: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all attention of that form in the window."""
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    products, passes = _attention(window)
    if passes.is_empty():
        return []
    steps = replay.program.steps
    softmax = passes.filter(pl.col("op").cast(pl.String).is_in(SOFTMAX))
    operators = heaviest_operators(pl.concat([passes, products]), steps)
    passes_ms = number(passes["dur_ns"].sum()) / steps / 1e6
    spent = number(products["dur_ns"].sum()) + number(passes["dur_ns"].sum())
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        _edit(products, passes, _left(products, device_rates, FUSED_EFFICIENCY, 1.0, UNKNOWN_LEFT_SHARE)),
        cautious=_edit(products, passes, _left(products, device_rates, FUSED_EFFICIENCY_LOW, 1.0, UNKNOWN_LEFT_HIGH_SHARE)),
        optimistic=_edit(
            products, passes, _left(products, device_rates, FUSED_EFFICIENCY_HIGH, CAUSAL_LEFT_SHARE, UNKNOWN_LEFT_LOW_SHARE)
        ),
        min_share=MIN_SHARE,
        message=(
            f"Attention spelled out as products and {digits(softmax['op_id'].n_unique() / steps)} softmaxes a step takes "
            f"{spent / number(window['dur_ns'].sum()):.0%} of the GPU's time, {digits(passes_ms)} ms of it in passes over the "
            "scores; fused it would give back {saving}."
        ),
        location=place_of(softmax.sort("dur_ns")["op_id"][-1], cpu_ops, op_sources),
        evidence=operators.drop("op_id"),
        thresholds={"fused_efficiency": FUSED_EFFICIENCY, "min_share": MIN_SHARE},
        caveat="Fused attention does not return the attention weights; results differ by rounding.",
    )


def _attention(window: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The batched products around softmaxes, and the kernels between them that pass over the scores.

    Between two products lies a segment. One that holds a softmax is attention where both its products have the softmax's
    elements as result or as factor; without shapes, where both are batched products.
    """
    lane = ["device", "stream"]
    operator = pl.col("op").cast(pl.String)
    is_product = pl.col("kind").cast(pl.String) == "gemm"
    ordered = (
        window.sort(*lane, "start_ns")
        .with_columns(product=is_product, batched=is_product & operator.is_in(PRODUCTS))
        .with_columns(segment=pl.col("product").cum_sum().over(lane), softmax=operator.is_in(SOFTMAX))
    )
    scores = ordered.filter("softmax").group_by(*lane, "segment").agg(scores=pl.col("largest_elements").max())
    opening = ordered.filter("product").select(*lane, "segment", **_sizes("opening"))
    closing = ordered.filter("product").select(*lane, segment=pl.col("segment") - 1, **_sizes("closing"))
    found = scores.join(opening, on=[*lane, "segment"]).join(closing, on=[*lane, "segment"]).filter(_fits())
    all_scores = found["scores"].drop_nulls().unique().implode()
    passes = ordered.join(found, on=[*lane, "segment"]).filter(
        ~pl.col("product"),
        pl.col("kind").cast(pl.String).is_in(PASSING_KINDS),
        pl.col("scores").is_null() | pl.col("largest_elements").is_null() | (pl.col("largest_elements") == pl.col("scores")),
    )
    beside = pl.concat([found["opening_id"], found["closing_id"]]).unique().implode()
    of_scores = pl.any_horizontal(
        (pl.col("batch") * pl.col(a) * pl.col(b)).is_in(all_scores) for a, b in (("m", "n"), ("m", "k"), ("k", "n"))
    )
    products = ordered.filter("batched", pl.col("id").is_in(beside) | of_scores.fill_null(value=False))
    return products.select(window.columns), passes.select(window.columns)


def _sizes(side: str) -> dict[str, pl.Expr]:
    """Of a product beside a segment: its id, whether it is batched, elements of its result and of either factor."""
    return {
        f"{side}_id": pl.col("id"),
        f"{side}_batched": pl.col("batched"),
        f"{side}_result": pl.col("batch") * pl.col("m") * pl.col("n"),
        f"{side}_left": pl.col("batch") * pl.col("m") * pl.col("k"),
        f"{side}_right": pl.col("batch") * pl.col("k") * pl.col("n"),
    }


def _fits() -> pl.Expr:
    """The product before writes scores or has read them (backward); the one after reads them, in backward on either side."""
    before = pl.any_horizontal(pl.col(f"opening_{what}") == pl.col("scores") for what in ("result", "left"))
    after = pl.any_horizontal(pl.col(f"closing_{side}") == pl.col("scores") for side in ("left", "right"))
    return pl.col("opening_batched") & pl.col("closing_batched") & (before & after).fill_null(value=True)


def _left(products: pl.DataFrame, rates: pl.DataFrame, efficiency: float, work_left: float, unknown_left: float) -> float:
    """The products' time in fused attention as a share of now."""
    recorded = number(products["dur_ns"].sum())
    half = products["element_type"].drop_nulls()
    rate = peak(rates, str(half[0])) if not half.is_empty() else None
    if rate is None or products["flops"].null_count() or recorded == 0:
        return unknown_left
    fused_ns = number(products["flops"].sum()) * RECOMPUTE_FACTOR * work_left / (rate * efficiency) * 1e9
    return fused_ns / recorded


def _edit(products: pl.DataFrame, passes: pl.DataFrame, left: float) -> Edit:
    return combine(
        without_calls(passes["launch_id"].drop_nulls().to_numpy()),
        with_work_duration(products["id"].to_numpy(), products["dur_ns"].to_numpy() * left),
    )
