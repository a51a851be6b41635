"""Which module of the model ran each operator?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.errors import MissingData
from analyze.matching import match_operators
from analyze.nesting import innermost, nest
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.intervals import Ints

COLUMNS = (
    Column("id", pl.Int64, "", "operator; those outside every module have no row"),
    Column("module", pl.String, "", "path of enclosing modules as the profiler names them: Block_3/Linear_1"),
    Column(
        "calls",
        pl.String,
        "",
        "which call of each module on the path: 0/2; the same in every step where matched from another window",
    ),
    Column("backward", pl.Boolean, "", "a backward node: the module is that of the forward operator with its sequence number"),
)

MODULE = r"^nn\.Module: "
#: the autograd engine's own label around every backward node
BACKWARD = "autograd::engine::evaluate_function"
NEEDED = ("id", "name", "thread", "start_ns", "sequence_number")


def op_modules(
    cpu_ops: pl.DataFrame,
    python_calls: pl.DataFrame | None = None,
    explained: Mapping[str, pl.LazyFrame] | None = None,
) -> pl.DataFrame:
    """Modules from the trace's own stacks, else from the explaining window, matched by order within the step."""
    if python_calls is not None:
        return _told(cpu_ops.select(NEEDED), python_calls)
    if explained is None:
        raise MissingData("no stacks were recorded, so nothing says which module ran what")
    theirs = explained["op_events"].drop_nulls("dur_ns").select(NEEDED).sort("start_ns").collect()
    calls = explained["python_events"].drop_nulls("dur_ns").select("name", "thread", "start_ns", "dur_ns").collect()
    told = _told(theirs, calls).rename({"id": "explained_id"})
    return match_operators(cpu_ops, explained).join(told, on="explained_id").select(column.name for column in COLUMNS)


def _told(operators: pl.DataFrame, python_calls: pl.DataFrame) -> pl.DataFrame:
    calls = python_calls.filter(pl.col("name").cast(pl.String).str.contains(MODULE)).sort("start_ns")
    if calls.is_empty():
        raise MissingData("the recorded stacks name no modules")
    call_lane, operator_lane = _lanes(calls.select("thread"), operators.select("thread"))
    nesting = nest(call_lane, calls["start_ns"].to_numpy(), calls["dur_ns"].to_numpy())
    names = calls["name"].cast(pl.String).str.replace(MODULE, "")
    numbers = calls.select(pl.int_range(pl.len()).cast(pl.String)).to_series()
    paths = calls.select(
        call=pl.int_range(pl.len()),
        module=_paths(names, nesting.parent, nesting.depth),
        calls=_paths(numbers, nesting.parent, nesting.depth),
    )
    owner = pl.Series(innermost(nesting, operator_lane, operators["start_ns"].to_numpy()), dtype=pl.Int64)
    forward = operators.with_columns(call=owner).join(paths, on="call").with_columns(backward=pl.lit(value=False))
    by_sequence = (
        forward.drop_nulls("sequence_number")
        .unique("sequence_number", keep="first", maintain_order=True)
        .select("sequence_number", "module", "calls")
    )
    nodes = operators.filter(pl.col("name").cast(pl.String).str.starts_with(BACKWARD))
    backward = nodes.join(by_sequence, on="sequence_number").with_columns(backward=pl.lit(value=True))
    columns = [column.name for column in COLUMNS]
    # a node that recomputes its forward runs modules itself; it is their work all the same
    return pl.concat([backward.select(columns), forward.select(columns)]).unique("id", keep="first", maintain_order=True)


def _lanes(left: pl.DataFrame, right: pl.DataFrame) -> tuple[Ints, Ints]:
    lanes = pl.concat([left, right]).unique(maintain_order=True).with_row_index("lane")
    codes = [
        frame.join(lanes, on="thread", how="left", maintain_order="left", nulls_equal=True)["lane"].cast(pl.Int64).to_numpy()
        for frame in (left, right)
    ]
    return codes[0], codes[1]


def _paths(texts: pl.Series, parent: Ints, depth: Ints) -> pl.Series:
    """Own text after those of the enclosing calls, one level of depth at a time."""
    path = texts.to_numpy().astype(object)
    for level in range(1, int(depth.max()) + 1):
        here = np.flatnonzero((depth == level) & (parent >= 0))
        path[here] = path[parent[here]] + "/" + path[here]
    return pl.Series(path.tolist(), dtype=pl.String)
