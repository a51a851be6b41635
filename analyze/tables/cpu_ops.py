"""Which operators ran on the host, within which others, for how long by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.errors import MissingData
from analyze.matching import match_operators
from analyze.nesting import nest
from analyze.schema import TABLES
from analyze.tables._in_step import with_step

if TYPE_CHECKING:
    from collections.abc import Mapping


def cpu_ops(
    op_events: pl.LazyFrame,
    steps: pl.DataFrame | None = None,
    explained: Mapping[str, pl.LazyFrame] | None = None,
) -> pl.DataFrame:
    """Operators with parent, depth and self time; events that never ended are left out (they are in data_quality)."""
    events = op_events.drop_nulls("dur_ns").collect()
    if events.is_empty():
        raise MissingData("the trace has no host operators")
    lane = events.select(pl.struct("process", "thread").rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
    dur = events["dur_ns"].to_numpy()
    nesting = nest(lane, events["start_ns"].to_numpy(), dur)
    has_parent = nesting.parent >= 0
    children = np.bincount(nesting.parent[has_parent], weights=dur[has_parent], minlength=dur.size).astype(np.int64)
    ids = events["id"].to_numpy()
    parent_id = (
        pl.Series(ids[np.maximum(nesting.parent, 0)]).to_frame("p").select(pl.when(pl.Series(has_parent)).then(pl.col("p")))
    )
    table = events.with_columns(
        parent_id=parent_id.to_series(),
        depth=pl.Series(nesting.depth),
        self_ns=pl.Series(np.maximum(dur - children, 0)),
        input_shapes=pl.col("input_dims"),
    )
    stepped = with_step(table, steps)
    if explained is not None and stepped["input_shapes"].null_count() == stepped.height:
        stepped = _with_explained_inputs(stepped, explained)
    return stepped.select(column.name for column in TABLES["cpu_ops"])


def _with_explained_inputs(own: pl.DataFrame, explained: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Inputs of the same calls in the window that recorded them; the timed window keeps its own times."""
    inputs = explained["op_events"].select(
        "input_types", "input_strides", "concrete_inputs", explained_id="id", input_shapes="input_dims"
    )
    matched = match_operators(own, explained).lazy().join(inputs, on="explained_id").drop("explained_id").collect()
    without = own.drop("input_shapes", "input_types", "input_strides", "concrete_inputs")
    return without.join(matched, on="id", how="left", maintain_order="left")
