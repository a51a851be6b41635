"""Do the loader's workers set the pace: does the loop catch up with them again and again?

Workers load ahead into a queue of bounded length. Where the loop finds that queue empty in every stretch of the run, batches
come as fast as they can already, in bursts of as many as there are workers, and a shorter step only waits longer.
"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.scalars import number
from analyze.schema import Column

COLUMNS = (
    Column("sets_pace", pl.Boolean, "", "the loop waits for the workers in stretch after stretch"),
    Column("interval_ns", pl.Float64, "ns", "mean time between two batches, which is the mean step"),
    Column("wait_ns", pl.Float64, "ns", "mean wait for a batch"),
    Column("waiting_stretches", pl.Float64, "", "share of the stretches of consecutive steps in which the loop waited"),
    Column("steps", pl.Int64, "", "unprofiled steps looked at"),
)

#: a stretch holds every worker's turn so many times, and no fewer steps than this
TURNS, SHORTEST_STRETCH = 2, 8
#: fewer stretches do not tell waits that come back from the start of an epoch
FEWEST_STRETCHES = 3
#: waits below this share of the mean step are the loader's own overhead
WAITING_SHARE = 0.05
#: and so are all of them together below this one
LEAST_WAIT_SHARE = 0.03
#: the queue may last through a stretch now and then
MOST_STRETCHES = 0.75


def loader_pace(
    step_time: pl.DataFrame, manifest: dict[str, object] | None = None, input_wait: pl.DataFrame | None = None
) -> pl.DataFrame:
    """One row; raises MissingData where no step log measured the waits or the loop loads its batches itself."""
    logged = step_time.filter(~pl.col("profiled"), pl.col("input_wait_ns").is_not_null()).sort("step")
    if logged.is_empty():
        raise MissingData("no step log says how long the loop waited for input")
    workers = (manifest or {}).get("workers")
    itself = bool(input_wait["loads_itself"].any()) if input_wait is not None else False
    if not isinstance(workers, int) or workers < 1 or itself:
        raise MissingData("no workers load ahead, as far as the run tells")
    step, wait = (number(logged[name].mean()) for name in ("step_ns", "input_wait_ns"))
    length = max(TURNS * workers, SHORTEST_STRETCH)
    stretches = (
        logged.with_columns(stretch=pl.int_range(pl.len()) // length)
        .group_by("stretch")
        .agg(steps=pl.len(), waited=(pl.col("input_wait_ns") > WAITING_SHARE * step).any())
        .filter(pl.col("steps") == length)
    )
    share = number(stretches["waited"].mean()) if len(stretches) else 0.0
    sets = len(stretches) >= FEWEST_STRETCHES and share >= MOST_STRETCHES and wait >= LEAST_WAIT_SHARE * step
    row = {
        "sets_pace": sets,
        "interval_ns": step,
        "wait_ns": wait,
        "waiting_stretches": share,
        "steps": len(logged),
    }
    return pl.DataFrame([row], schema={column.name: column.dtype for column in COLUMNS})
