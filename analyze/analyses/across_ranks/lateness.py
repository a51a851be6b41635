"""Is a rank slower than the others by more than chance, by how much, and in what?

Gradient averaging makes all step times equal, so what is compared is each rank's own part of the step: what it did while no
collective held it up. A habit in one thing it does (waiting for input, say) may show where its computing varies too much for
the whole to tell: then that thing alone decides, if the rank is late at all.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from analyze.analyses.across_ranks._noise import chance
from analyze.analyses.across_ranks._others import others_median
from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("own_ns", pl.Float64, "ns", "own part of a step, mean"),
    Column("excess_ns", pl.Float64, "ns", "own part beyond the median of the other ranks, median over steps"),
    Column("noise_ns", pl.Float64, "ns", "standard error of the excess; null where one step was recorded"),
    Column("significant", pl.Boolean, "", "whether the excess clears the noise and is worth a look"),
    Column("cause", pl.String, "", "part with the largest excess: input_wait, gc, host, compute, copy"),
    Column("cause_ns", pl.Float64, "ns", "excess of that part, median over steps"),
    Column("last_fraction", pl.Float64, "", "share of the collectives with a wait in which this rank came last"),
    Column("caused_wait_ns", pl.Float64, "ns", "what the others were held up waiting for this rank, per step and waiting rank"),
    Column("waits_ns", pl.Float64, "ns", "what this rank was held up waiting for others, per step"),
)

PARTS = ("input_wait", "gc", "host", "compute", "copy")
#: an excess below this share of the step is not worth a name
MIN_STEP_SHARE = 0.03
#: with one step, nothing tells noise from habit: only a large excess counts
ONE_STEP_SHARE = 0.10
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
        **{part: pl.col(f"{part}_ns_excess").median() for part in PARTS},
    )
    step_ns = pl.lit(rank_steps["step_ns"].mean(), dtype=pl.Float64)
    least = (ONE_STEP_SHARE if steps == 1 else MIN_STEP_SHARE) * step_ns
    habits = {part: pl.col(f"{part}_habit") & (pl.col(part) > least) for part in PARTS}
    clears = (pl.col("excess_ns") > least) & (pl.col("own_habit") | pl.any_horizontal(*habits.values()))
    # where the whole does not tell, only what does is a cause
    weighed = {part: pl.when(pl.col("own_habit") | habit | ~clears).then(pl.col(part)) for part, habit in habits.items()}
    largest = pl.max_horizontal(*weighed.values())
    cause: pl.Expr = pl.lit(PARTS[-1])
    for part in reversed(PARTS[:-1]):
        cause = pl.when(weighed[part] == largest).then(pl.lit(part)).otherwise(cause)
    return (
        compared.join(_noise(beyond, steps), on="rank", how="left")
        .with_columns(significant=clears, cause=cause, cause_ns=largest)
        .join(_waits(collective_arrivals, steps), on="rank", how="left")
        .sort("excess_ns", "rank", descending=[True, False])
        .select(column.name for column in COLUMNS)
    )


def _noise(beyond: pl.DataFrame, steps: int) -> pl.DataFrame:
    """By rank the standard error of its excess, and whether the excess, and that of each part, is beyond chance."""
    ranks = beyond["rank"].unique().sort()
    found: dict[str, object] = {"rank": ranks, "noise_ns": None, "own_habit": True, **{f"{part}_habit": False for part in PARTS}}
    if steps > 1:
        ordered = beyond.sort("rank", "step")
        for part in ("own", *PARTS):
            table = ordered[f"{part}_ns_excess"].to_numpy().reshape(ranks.len(), steps).astype(np.float64)
            mean, error, most = chance(table, looks=2 if part == "own" else 2 * len(PARTS))
            found[f"{part}_habit"] = mean > most * error
            found["noise_ns"] = error if part == "own" else found["noise_ns"]
    return pl.DataFrame(found, schema_overrides={"noise_ns": pl.Float64})


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
    caused = waits.group_by(rank="late").agg(caused_wait_ns=(pl.col("blocked_wait_ns") / (pl.col("ranks") - 1)).sum() / steps)
    ends = told.filter("last").group_by("rank").len("times")
    every = max(told["match"].n_unique(), 1)
    return (
        counted.group_by("rank")
        .agg(waits_ns=pl.col("blocked_wait_ns").sum() / steps)
        .join(caused, on="rank", how="left")
        .join(ends, on="rank", how="left")
        .with_columns(
            pl.col("caused_wait_ns").fill_null(0.0), last_fraction=pl.col("times").fill_null(0).cast(pl.Float64) / every
        )
        .select(list(nothing))
    )
