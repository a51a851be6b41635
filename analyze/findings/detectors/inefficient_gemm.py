"""Matrix products run far below what the device reaches, because of their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.kernel_groups import heaviest_operators, memory_rate, peak
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.places import place_of
from analyze.replay.edits import with_work_duration
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay
    from analyze.trace_info import TraceInfo

DETECTOR = Detector(
    id="inefficient-gemm",
    title="Matrix products run far below the device's rate",
    meaning=(
        "Matrix units load their operands in blocks of 16 bytes. A size that is no multiple of that (a vocabulary of 50257, "
        "a sequence of 197 tokens) forces kernels that load element by element, several times slower. Products that are "
        "small all over are slow too, since they fill only part of the device."
    ),
    measured=(
        "Products with known sizes on matrix units. Saving: those whose rows have an odd length at the rate of even ones in this "
        "trace, else at a share of the peak rate, with the padding added, whole waves of tiles, and never below their memory "
        "traffic; replayed. Slow products of even sizes become a note."
    ),
    fix=(
        Remedy(
            text="Pad the odd size to a multiple of 64 once, where it is defined: vocabulary, classes, tokens, width",
            code="vocabulary = 64 * ((vocabulary + 63) // 64)",
        ),
        Remedy(text="Let the compiler pad", code="model = torch.compile(model)  # inductor pads matrix products"),
        Remedy(text="Join small products: one linear layer for query, key and value; batches instead of loops"),
    ),
    doc="https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",
)

#: bytes that matrix units load at once; a size whose rows are no multiple of it is odd
LOAD_BYTES = 16
#: sizes are padded to a multiple of this
PADDED_ELEMENTS = 64
#: products thinner than this are bound by memory or by their start
THINNEST_ELEMENTS = 32
#: share of the peak rate that even products reach, where this trace does not show it
EVEN_EFFICIENCY_LOW, EVEN_EFFICIENCY, EVEN_EFFICIENCY_HIGH = 0.4, 0.6, 0.75
#: a rate seen in this trace is trusted to within this factor
SEEN_SPREAD_FACTOR = 1.4
#: sides of the tiles that a multiprocessor works on
TILE_ELEMENTS = 128
#: even products shorter than this do not show the device's rate
LONG_NS = 20_000
#: no product ends sooner
SHORTEST_NS = 3_000.0
#: products at less than this share of their attainable rate are slow
SLOW_SHARE = 0.5
#: below this share of the step padding is not worth it
MIN_SHARE = 0.03
#: slow products of even sizes are worth a note from this share of the GPU's time on
NOTE_SHARE = 0.15
ELEMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp64": 8}


def detect(
    replay: Replay,
    kernel_arithmetic: pl.DataFrame,
    device_rates: pl.DataFrame,
    trace_info: TraceInfo | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """A saving for odd sizes, a note for even ones."""
    window = kernel_arithmetic.filter(pl.col("id").is_in(replay.program.work_id.tolist()))
    products = _on_matrix_units(window)
    if products.is_empty() and (window["kind"].cast(pl.String) == "gemm").any() and window["flops"].null_count() == window.height:
        raise MissingData("no shapes were recorded")
    units = next((d.multiprocessors for d in trace_info.devices if d.multiprocessors), None) if trace_info else None
    even = products.filter(~_odd())
    rate = {step: _rate(device_rates, even, step) for step in (-1, 0, 1)}
    slow = {
        step: products.with_columns(attainable_ns=_attainable_ns(rate[step], memory_rate(device_rates), units)) for step in rate
    }
    odd = {step: frame.filter(_odd()) for step, frame in slow.items()}
    total_ns = number(window["dur_ns"].sum())
    found = _padded(replay, odd, total_ns, cpu_ops, op_sources) if not odd[0].is_empty() else []
    return found + _note(slow[0].filter(~_odd()), total_ns, replay.program.steps, cpu_ops, op_sources)


def _on_matrix_units(window: pl.DataFrame) -> pl.DataFrame:
    thin = pl.min_horizontal("m", "n", "k") < THINNEST_ELEMENTS
    plain = (pl.col("precision") == "fp32") & ~pl.col("tensor_core")
    return window.filter(pl.col("kind").cast(pl.String) == "gemm", pl.col("flops") > 0, ~thin, ~plain)


def _odd() -> pl.Expr:
    """Whether rows in memory, of either factor or of the result, begin off the grid of loads.

    Which side is contiguous the strides say; where they are unknown, factors are taken to be stored as linear layers store them.
    """
    width = pl.col("element_type").replace_strict(ELEMENT_BYTES, default=1, return_dtype=pl.Int64)
    m, n, k = ((pl.col(side) * width) % LOAD_BYTES != 0 for side in ("m", "n", "k"))
    left_by_columns, right_by_columns = _stored_by_columns(0), _stored_by_columns(1)
    left, right = pl.when(left_by_columns).then(m).otherwise(k), pl.when(right_by_columns).then(k).otherwise(n)
    return n | left | right


def _stored_by_columns(side: int) -> pl.Expr:
    """Whether the innermost stride of a factor is not 1; False where unknown."""
    added = pl.col("op").cast(pl.String).str.contains("add").cast(pl.Int64)
    texts = pl.col("input_strides").cast(pl.String).str.extract_all(r"\[[\d, ]*\]")
    innermost = texts.list.get(added + side, null_on_oob=True).str.extract(r"(\d+)\]$")
    return (innermost != "1").fill_null(value=False)


def _precision() -> pl.Expr:
    rounded = (pl.col("precision") == "fp32") & pl.col("tensor_core")
    return pl.when(rounded).then(pl.lit("tf32")).otherwise(pl.col("precision"))


def _rate(rates: pl.DataFrame, even: pl.DataFrame, step: int) -> dict[str, float]:
    """Operations per second of even products by precision, of the faster half of their time; -1 is cautious, 1 optimistic."""
    spent = pl.col("dur_ns").cum_sum().over(_precision()) - pl.col("dur_ns")
    faster = (
        even.filter(pl.col("dur_ns") >= LONG_NS)
        .sort(pl.col("flops") / pl.col("dur_ns"), descending=True)
        .filter(2 * spent < pl.col("dur_ns").sum().over(_precision()))
    )
    seen = dict(faster.group_by(_precision()).agg(pl.col("flops").sum() / pl.col("dur_ns").sum() * 1e9).rows())
    efficiency = {-1: EVEN_EFFICIENCY_LOW, 0: EVEN_EFFICIENCY, 1: EVEN_EFFICIENCY_HIGH}[step]
    found = {}
    for precision in ("fp64", "tf32", "bf16", "fp16", "fp8", "int8"):
        most = peak(rates, precision)
        if precision in seen:
            found[precision] = min(seen[precision] * SEEN_SPREAD_FACTOR**step, most or float("inf"))
        elif most:
            found[precision] = most * efficiency
    return found


def _attainable_ns(rate: dict[str, float], bytes_per_s: float | None, units: int | None) -> pl.Expr:
    def padded(side: str) -> pl.Expr:
        return (pl.col(side) / PADDED_ELEMENTS).ceil() * PADDED_ELEMENTS

    flops = 2.0 * padded("m") * padded("n") * padded("k") * pl.col("batch")
    per_s = _precision().replace_strict(rate, default=None, return_dtype=pl.Float64)
    compute = flops / per_s * 1e9
    if units:
        tiles = (pl.col("m") / TILE_ELEMENTS).ceil() * (pl.col("n") / TILE_ELEMENTS).ceil() * pl.col("batch")
        compute = compute * (tiles / units).ceil() * units / tiles
    traffic = pl.col("bytes") / bytes_per_s * 1e9 if bytes_per_s else pl.lit(0.0)
    return pl.max_horizontal(compute, traffic, pl.lit(SHORTEST_NS))


def _padded(
    replay: Replay,
    odd: dict[int, pl.DataFrame],
    total_ns: float,
    cpu_ops: pl.DataFrame | None,
    op_sources: pl.DataFrame | None,
) -> list[Finding]:
    steps = replay.program.steps
    slow = odd[0].filter(pl.col("attainable_ns") < pl.col("dur_ns"))
    if slow.is_empty():
        return []
    operators = heaviest_operators(slow, steps)
    spent = number(slow["dur_ns"].sum())
    worst = slow.filter(pl.col("op_id") == operators["op_id"][0]).row(0, named=True)
    return modelled_through_replay(
        DETECTOR.id,
        replay,
        _edit(odd[0]),
        cautious=_edit(odd[-1]),
        optimistic=_edit(odd[1]),
        min_share=MIN_SHARE,
        message=(
            f"Products of odd sizes (m, n, k = {worst['m']}, {worst['n']}, {worst['k']} …) take {spent / total_ns:.0%} of the "
            f"GPU's time at {number(slow['attainable_ns'].sum()) / spent:.0%} of the rate that even ones reach; padded they "
            "would give back {saving}."
        ),
        location=place_of(operators["op_id"][0], cpu_ops, op_sources),
        evidence=operators.drop("op_id"),
        thresholds={"even_efficiency": EVEN_EFFICIENCY, "min_share": MIN_SHARE},
    )


def _edit(odd: pl.DataFrame) -> Edit:
    new = pl.min_horizontal(pl.col("attainable_ns"), pl.col("dur_ns").cast(pl.Float64))
    changed = odd.select("id", new=new)
    return with_work_duration(changed["id"].to_numpy(), changed["new"].to_numpy())


def _note(
    even: pl.DataFrame, total_ns: float, steps: int, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None
) -> list[Finding]:
    slow = even.filter(pl.col("attainable_ns") < SLOW_SHARE * pl.col("dur_ns"))
    spent = number(slow["dur_ns"].sum())
    if slow.is_empty() or spent < NOTE_SHARE * total_ns:
        return []
    operators = heaviest_operators(slow, steps)
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"Products of even sizes that take {spent / total_ns:.0%} of the GPU's time run at "
                f"{number(slow['attainable_ns'].sum()) / spent:.0%} of the rate their sizes allow, most in "
                f"{place_of(operators['op_id'][0], cpu_ops) or 'unnamed operators'}."
            ),
            confidence=0.4,
            severity=Severity.LOW,
            location=place_of(operators["op_id"][0], cpu_ops, op_sources),
            evidence=operators.drop("op_id"),
            thresholds={"slow_share": SLOW_SHARE, "note_share": NOTE_SHARE},
        )
    ]
