"""Which modules of the model cost how much, forward and backward?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._launched_within import launched_within
from analyze.errors import MissingData
from analyze.nesting import innermost, nest
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Ints

COLUMNS = (
    Column("module", pl.String, "", "path of enclosing modules as the profiler names them: TransformerBlock_3/Linear_1"),
    Column("calls", pl.Int64, "", "forward calls"),
    Column("host_ns", pl.Int64, "ns", "summed forward duration on the host, modules inside included"),
    Column("host_self_ns", pl.Int64, "ns", "without the modules inside"),
    Column("forward_device_ns", pl.Int64, "ns", "device work launched by the forward calls, modules inside included"),
    Column("backward_device_ns", pl.Int64, "ns", "by the backward of their operators, the module's own only"),
    Column("kernel_count", pl.Int64, "", "device work items launched by the forward calls"),
)

MODULE = r"^nn\.Module: "
BACKWARD = "autograd::engine::evaluate_function"


def module_summary(
    python_calls: pl.DataFrame,
    cpu_ops: pl.DataFrame,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Modules of the recorded stacks by path, most device time first."""
    calls = python_calls.filter(pl.col("name").cast(pl.String).str.contains(MODULE)).sort("start_ns")
    if calls.is_empty():
        raise MissingData("the recorded stacks name no modules")
    lane = _lanes(calls.select("thread"), cpu_ops.select("thread"))
    nesting = nest(lane[0], calls["start_ns"].to_numpy(), calls["dur_ns"].to_numpy())
    dur = calls["dur_ns"].to_numpy()
    has = nesting.parent >= 0
    inside = np.bincount(nesting.parent[has], weights=dur[has], minlength=dur.size).astype(np.int64)
    named = calls.with_columns(
        module=_paths(calls["name"], nesting.parent, nesting.depth),
        self_ns=pl.Series(np.maximum(dur - inside, 0)),
        call=pl.int_range(pl.len()),
    )
    if launches is None or (kernels is None and copies is None):
        unknown = pl.lit(None, dtype=pl.Int64)
        measured = named.with_columns(device_ns=unknown, work_count=unknown, backward_ns=unknown)
    else:
        work = device_work(kernels, copies)
        measured = launched_within(named, launches, work, lane=("thread",))
        owner = pl.Series(innermost(nesting, lane[1], cpu_ops["start_ns"].to_numpy()))
        backward = _backward(cpu_ops.with_columns(call=owner), launches, work)
        measured = measured.join(backward, on="call", how="left").with_columns(pl.col("backward_ns").fill_null(0))
    return (
        measured.group_by("module")
        .agg(
            calls=pl.len().cast(pl.Int64),
            host_ns=pl.col("dur_ns").sum(),
            host_self_ns=pl.col("self_ns").sum(),
            forward_device_ns=_sum_if_known("device_ns"),
            backward_device_ns=_sum_if_known("backward_ns"),
            kernel_count=_sum_if_known("work_count"),
        )
        .sort("forward_device_ns", "host_ns", "module", descending=[True, True, False], nulls_last=True)
        .select(column.name for column in COLUMNS)
    )


def _sum_if_known(column: str) -> pl.Expr:
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum())


def _lanes(left: pl.DataFrame, right: pl.DataFrame) -> tuple[Ints, Ints]:
    lanes = pl.concat([left, right]).unique(maintain_order=True).with_row_index("lane")
    codes = [
        frame.join(lanes, on="thread", how="left", maintain_order="left", nulls_equal=True)["lane"].cast(pl.Int64).to_numpy()
        for frame in (left, right)
    ]
    return codes[0], codes[1]


def _paths(names: pl.Series, parent: Ints, depth: Ints) -> pl.Series:
    """Own name after those of the enclosing modules, one level of depth at a time."""
    path = names.cast(pl.String).str.replace(MODULE, "").to_numpy().astype(object)
    for level in range(1, int(depth.max()) + 1):
        here = np.flatnonzero((depth == level) & (parent >= 0))
        path[here] = path[parent[here]] + "/" + path[here]
    return pl.Series(path.tolist(), dtype=pl.String)


def _backward(operators: pl.DataFrame, launches: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    """Device work of backward nodes by the module call that ran the forward operator of the same sequence number."""
    name = pl.col("name").cast(pl.String)
    forward = (
        operators.filter(pl.col("call") >= 0)
        .drop_nulls("sequence_number")
        .unique("sequence_number", keep="first", maintain_order=True)
        .select("sequence_number", "call")
    )
    nodes = operators.filter(name.str.starts_with(BACKWARD)).drop_nulls("sequence_number").drop("call")
    timed = launched_within(nodes, launches, work)
    return timed.join(forward, on="sequence_number").group_by("call").agg(backward_ns=pl.col("device_ns").sum())
