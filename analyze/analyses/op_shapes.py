"""Which shapes, types and scalars did each operator get?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("id", pl.Int64, "", "operator"),
    Column("input_shapes", pl.Categorical, "", "input shapes, JSON text"),
    Column("input_types", pl.Categorical, "", "input element types, JSON text"),
    Column("concrete_inputs", pl.Categorical, "", "scalar inputs, JSON text; null where not recorded"),
)

DETAILS = ("input_shapes", "input_types", "concrete_inputs")
MARKER = r"^ProfilerStep#\d+$"


def op_shapes(cpu_ops: pl.DataFrame, explained: Mapping[str, pl.LazyFrame] | None = None) -> pl.DataFrame:
    """The trace's own shapes where recorded, else those of the explaining window, matched by order within the step.

    An operator is matched to the one of the same name that comes as often before it in its step, on its thread.
    """
    own = cpu_ops.drop_nulls("input_shapes").select("id", *DETAILS)
    if not own.is_empty():
        return own
    if explained is None:
        raise MissingData("the recording has no operator shapes (record_shapes=True records them)")
    theirs = _one_step(explained)
    if theirs.is_empty():
        raise MissingData("the explaining window holds no operator shapes")
    key = ["thread", "name"]
    known = theirs.with_columns(turn=pl.int_range(pl.len()).over(key)).select(*key, "turn", *DETAILS)
    wanted = cpu_ops.drop_nulls("step").sort("start_ns").with_columns(turn=pl.int_range(pl.len()).over("step", *key))
    return wanted.select("id", *key, "turn").join(known, on=[*key, "turn"], maintain_order="left").select("id", *DETAILS)


def _one_step(explained: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Operators with shapes of the explaining window's first step, in start order."""
    marker = pl.col("name").cast(pl.String).str.contains(MARKER)
    first = (
        explained["annotation_events"]
        .filter(marker)
        .select("start_ns", end_ns=pl.col("start_ns") + pl.col("dur_ns"))
        .drop_nulls()
        .sort("start_ns")
        .head(1)
        .collect()
    )
    operators = explained["op_events"].drop_nulls("dur_ns").rename({"input_dims": "input_shapes"})
    if first.is_empty():
        return operators.head(0).collect()
    begin, end = first.row(0)
    inside = operators.filter(pl.col("start_ns") >= begin, pl.col("start_ns") < end).sort("start_ns")
    return inside.select("thread", "name", *DETAILS).collect().filter(pl.col("input_shapes").count() > 0)
