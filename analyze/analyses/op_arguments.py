"""What was each operator called with: shapes, types, strides and scalars, its own or those of the explaining window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("id", pl.Int64, "", "operator"),
    Column("name", pl.Categorical, "", "operator name"),
    Column("input_shapes", pl.Categorical, "", "input shapes, JSON text"),
    Column("input_types", pl.Categorical, "", "input types, JSON text"),
    Column("input_strides", pl.Categorical, "", "input strides, JSON text; null where not recorded"),
    Column("concrete_inputs", pl.Categorical, "", "scalar inputs, JSON text; null where not recorded"),
)

ARGUMENTS = ("input_shapes", "input_types", "input_strides", "concrete_inputs")
MARKER = r"^ProfilerStep#\d+$"


def op_arguments(cpu_ops: pl.DataFrame, explained: Mapping[str, pl.LazyFrame] | None = None) -> pl.DataFrame:
    """Operators whose shapes are known. Those of the explaining window are matched by order of the name within the step.

    Raises MissingData where neither recording holds shapes.
    """
    own = cpu_ops.filter(pl.col("input_shapes").is_not_null()).select("id", "name", *ARGUMENTS)
    if own.is_empty() and explained is not None:
        own = _matched(cpu_ops, explained)
    if own.is_empty():
        raise MissingData("no shapes were recorded")
    return own


def _matched(cpu_ops: pl.DataFrame, explained: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Arguments by (name, turn) from the first explained step; a name that runs another number of times there is left out."""
    markers = (
        explained["annotation_events"]
        .filter(pl.col("name").cast(pl.String).str.contains(MARKER))
        .select("start_ns", step="id")
        .sort("start_ns")
        .collect()
    )
    theirs = (
        explained["op_events"]
        .drop_nulls(["dur_ns", "input_dims"])
        .rename({"input_dims": "input_shapes"})
        .select("name", "start_ns", *ARGUMENTS)
        .sort("start_ns")
        .collect()
        .join_asof(markers, on="start_ns", strategy="backward")
        .drop_nulls("step")
    )
    first = _numbered(theirs.filter(pl.col("step") == pl.col("step").min()), ["name"])
    ours = _numbered(cpu_ops.drop_nulls("step").sort("start_ns"), ["step", "name"])
    return (
        ours.select("id", "name", "turn", "turns")
        .join(first.select("name", "turn", "turns", *ARGUMENTS), on=["name", "turn", "turns"], how="inner")
        .drop("turn", "turns")
    )


def _numbered(operators: pl.DataFrame, within: list[str]) -> pl.DataFrame:
    """Add `turn`, the position among operators of that name, and `turns`, how many there are."""
    return operators.with_columns(turn=pl.int_range(pl.len()).over(within), turns=pl.len().over(within))
