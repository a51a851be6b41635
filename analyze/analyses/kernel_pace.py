"""How often does each kernel run in a step, and how long does one take? Compared across ranks: more work, or slower?"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.String, "", "kernel name; operator where there is no device"),
    Column("kind", pl.String, "", "kind of kernel; operator where there is no device"),
    Column("count_per_step", pl.Float64, "", "how often it runs in a step, on average"),
    Column("mean_ns", pl.Float64, "ns", "mean duration"),
    Column("ns_per_step", pl.Float64, "ns", "time it takes in a step, on average"),
)

#: names that are compared: the heaviest tell enough, and what goes from rank to rank stays small
HEAVIEST_COUNT = 40


def kernel_pace(steps: pl.DataFrame, kernels: pl.DataFrame | None = None, cpu_ops: pl.DataFrame | None = None) -> pl.DataFrame:
    """The kernels launched in the steps that take most, heaviest first, collectives excluded; else operators' own time."""
    if kernels is not None:
        work = kernels.filter(pl.col("kind").cast(pl.String) != "collective").drop_nulls("step")
        timed = work.select("name", "kind", spent="dur_ns")
    elif cpu_ops is not None:
        timed = cpu_ops.drop_nulls("step").select("name", spent="self_ns").with_columns(kind=pl.lit("operator"))
    else:
        raise MissingData("the trace holds neither device work nor operators")
    return (
        timed.with_columns(pl.col("name", "kind").cast(pl.String))
        .group_by("name", "kind")
        .agg(
            count_per_step=pl.len() / steps.height,
            mean_ns=pl.col("spent").mean(),
            ns_per_step=pl.col("spent").sum() / steps.height,
        )
        .sort("ns_per_step", "name", descending=[True, False])
        .head(HEAVIEST_COUNT)
        .select(column.name for column in COLUMNS)
    )
