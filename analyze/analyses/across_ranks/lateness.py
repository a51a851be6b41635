"""Is a rank slower than the others by more than chance, by how much, and in what?

Gradient averaging makes all step times equal, so what is compared is each rank's own part of the step: what it did while no
collective held it up.
"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("own_ns", pl.Float64, "ns", "own part of a step, mean"),
    Column("excess_ns", pl.Float64, "ns", "own part beyond the median of the other ranks, median over steps"),
    Column("noise_ns", pl.Float64, "ns", "standard error of that median; null where one step was recorded"),
    Column("significant", pl.Boolean, "", "whether the excess clears the noise and is worth a look"),
    Column("cause", pl.String, "", "part with the largest excess: input_wait, gc, host, compute, copy"),
    Column("cause_ns", pl.Float64, "ns", "excess of that part, median over steps"),
    Column("last_fraction", pl.Float64, "", "share of the collectives with a wait in which this rank came last"),
    Column("caused_wait_ns", pl.Float64, "ns", "wait of the others for this rank, per step and waiting rank"),
    Column("waits_ns", pl.Float64, "ns", "this rank's own wait for others per step"),
)

PARTS = ("input_wait", "gc", "host", "compute", "copy")
#: an excess below this share of the step is not worth a name
MIN_STEP_SHARE = 0.03
#: and this many standard errors of it must fit between it and nothing
MIN_ERRORS = 3.0
#: with one step, nothing tells noise from habit: only a large excess counts
ONE_STEP_SHARE = 0.10
#: standard deviation by the median distance from the median, and the error of a median by it, where values are normal
DEVIATION_OF_MAD, MEDIAN_ERROR = 1.4826, 1.2533
#: waits shorter than this are how collectives come apart anyway
MIN_WAIT_NS = 20_000


def lateness(rank_steps: pl.DataFrame, collective_arrivals: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per rank, the slowest first; raises MissingData where there is nothing to compare."""
    if rank_steps["rank"].n_unique() < 2:  # noqa: PLR2004 - two make a comparison
        raise MissingData("only one rank has steps: send the other ranks' traces too")
    named = [f"{part}_ns" for part in PARTS]
    beyond = rank_steps.with_columns((pl.col(name) - others_median(name)).alias(f"{name}_excess") for name in ("own_ns", *named))
    steps = rank_steps["step"].n_unique()
    compared = beyond.group_by("rank").agg(
        pl.col("own_ns").mean(),
        excess_ns=pl.col("own_ns_excess").median(),
        spread=(pl.col("own_ns_excess") - pl.col("own_ns_excess").median()).abs().median(),
        **{part: pl.col(f"{part}_ns_excess").median() for part in PARTS},
    )
    # a few steps tell little about one rank's spread; all ranks' together tell more
    noise = (
        pl.lit(None, dtype=pl.Float64) if steps == 1 else pl.col("spread").mean() * DEVIATION_OF_MAD * MEDIAN_ERROR / steps**0.5
    )
    step_ns = pl.lit(rank_steps["step_ns"].mean(), dtype=pl.Float64)
    clears = (
        pl.when(pl.col("noise_ns").is_null())
        .then(pl.col("excess_ns") > ONE_STEP_SHARE * step_ns)
        .otherwise((pl.col("excess_ns") > MIN_ERRORS * pl.col("noise_ns")) & (pl.col("excess_ns") > MIN_STEP_SHARE * step_ns))
    )
    largest = pl.max_horizontal(*PARTS)
    cause: pl.Expr = pl.lit(PARTS[-1])
    for part in reversed(PARTS[:-1]):
        cause = pl.when(pl.col(part) == largest).then(pl.lit(part)).otherwise(cause)
    return (
        compared.with_columns(noise_ns=noise)
        .with_columns(significant=clears, cause=cause, cause_ns=largest)
        .join(_waits(collective_arrivals, steps), on="rank", how="left")
        .sort("excess_ns", "rank", descending=[True, False])
        .select(column.name for column in COLUMNS)
    )


def others_median(column: str) -> pl.Expr:
    """Median of a column over the other ranks of the same step.

    With the step's values sorted, leaving one out moves the middle to the values beside it.
    """
    count, place = pl.len().over("step"), pl.col(column).rank("ordinal").over("step").cast(pl.Int64) - 1
    ordered = pl.col(column).sort().over("step", mapping_strategy="join")

    def beside(index: pl.Expr) -> pl.Expr:
        return ordered.list.get(pl.when(index >= place).then(index + 1).otherwise(index).clip(0, count - 1))

    left = count - 1
    lower, upper = (left - 1) // 2, left // 2
    return (beside(lower) + beside(upper)) / 2


def _waits(collective_arrivals: pl.DataFrame | None, steps: int) -> pl.DataFrame:
    """How often each rank came last, and who waited how long because of it."""
    nothing = {"rank": pl.Int64, "last_fraction": pl.Float64, "caused_wait_ns": pl.Float64, "waits_ns": pl.Float64}
    if collective_arrivals is None:
        return pl.DataFrame(schema=nothing)
    counted = collective_arrivals.filter(~pl.col("profiler_start"))
    waits = counted.with_columns(
        late=pl.col("rank").filter("last").first().over("match"), longest=pl.col("wait_ns").max().over("match")
    )
    told = waits.filter(pl.col("longest") > MIN_WAIT_NS)
    caused = waits.group_by(rank="late").agg(caused_wait_ns=(pl.col("exposed_wait_ns") / (pl.col("ranks") - 1)).sum() / steps)
    ends = told.filter("last").group_by("rank").len("times")
    every = max(told["match"].n_unique(), 1)
    return (
        counted.group_by("rank")
        .agg(waits_ns=pl.col("exposed_wait_ns").sum() / steps)
        .join(caused, on="rank", how="left")
        .join(ends, on="rank", how="left")
        .with_columns(
            pl.col("caused_wait_ns").fill_null(0.0), last_fraction=pl.col("times").fill_null(0).cast(pl.Float64) / every
        )
        .select(list(nothing))
    )
