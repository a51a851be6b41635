"""How much of each step is this rank's own time, and how much did others make it wait?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._blocked import blocked_spans
from analyze.errors import MissingData
from analyze.intervals import covered_per_window, intersect, merge, of_frame, subtract, union
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Spans

COLUMNS = (
    Column("step", pl.Int64, "", "step number"),
    Column("start_ns", pl.Int64, "ns", "start of the step, where step_ns begins"),
    Column("step_ns", pl.Int64, "ns", "step time"),
    Column("own_ns", pl.Int64, "ns", "step time without what collectives blocked; the parts below add up to it"),
    Column("blocked_ns", pl.Int64, "ns", "time in which this rank waited for a collective: for other ranks, or for its transfer"),
    Column("compute_ns", pl.Int64, "ns", "own time in which the device computed; on the host, in which operators ran"),
    Column("copy_ns", pl.Int64, "ns", "own time in which only copies ran"),
    Column("input_wait_ns", pl.Int64, "ns", "own time without device work in which the loop waited for its next batch"),
    Column("gc_ns", pl.Int64, "ns", "own time without device work in which Python collected garbage"),
    Column("host_ns", pl.Int64, "ns", "own time without device work for any other reason: launching, Python, waiting"),
    Column("kernel_count", pl.Int64, "", "kernels launched in the step, collectives excluded; operators on the host"),
)
COLLECTION = r"^gc\.collect"


def own_time(
    step_time: pl.DataFrame,
    collective_calls: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
    annotations: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The first cycle's profiled steps; parts are disjoint, an instant belongs to the first that claims it."""
    steps = step_time.filter("profiled")
    if steps.is_empty():
        raise MissingData("the trace has no steps")
    steps = steps.filter(pl.col("cycle") == steps["cycle"].min()).sort("start_ns")
    start = steps["start_ns"].to_numpy()
    end = start + steps["step_ns"].to_numpy()
    loading = of_frame(input_wait) if input_wait is not None else merge([], [])
    compute, copying, count = _on_device(kernels, copies) if kernels is not None else _on_host(cpu_ops, loading, collective_calls)
    claims = {
        "blocked_ns": blocked_spans(collective_calls),
        "compute_ns": compute,
        "copy_ns": copying,
        "input_wait_ns": loading,
        "gc_ns": _collections(annotations),
    }
    left = merge(start, end)
    parts = {}
    for name, spans in claims.items():
        parts[name] = pl.Series(covered_per_window(intersect(left, spans), start, end), dtype=pl.Int64)
        left = subtract(left, spans)
    counts = count.group_by("step").agg(kernel_count=pl.len().cast(pl.Int64))
    own = pl.col("step_ns") - pl.col("blocked_ns")
    return (
        steps.select("step", "start_ns", "step_ns")
        .with_columns(**parts)
        .with_columns(own_ns=own, host_ns=own - pl.sum_horizontal("compute_ns", "copy_ns", "input_wait_ns", "gc_ns"))
        .join(counts, on="step", how="left", maintain_order="left")
        .with_columns(pl.col("kernel_count").fill_null(0))
        .select(column.name for column in COLUMNS)
    )


def _on_device(kernels: pl.DataFrame, copies: pl.DataFrame | None) -> tuple[Spans, Spans, pl.DataFrame]:
    """Compute and copies of the device that computes most, and the launched kernels."""
    computing = kernels.filter(pl.col("kind").cast(pl.String) != "collective")
    busiest = computing.group_by("device").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)["device"]
    mine = pl.col("device").eq_missing(busiest[0] if busiest.len() else None)
    copying = merge([], []) if copies is None else of_frame(copies.filter(mine))
    return of_frame(computing.filter(mine)), copying, computing.filter(mine)


def _on_host(
    cpu_ops: pl.DataFrame | None, loading: Spans, collective_calls: pl.DataFrame | None
) -> tuple[Spans, Spans, pl.DataFrame]:
    """Operators outside the loader; a copy is an operator like any other."""
    nothing = merge([], [])
    if cpu_ops is None:
        return nothing, nothing, pl.DataFrame(schema={"step": pl.Int64})
    ids = [] if collective_calls is None else collective_calls["id"].to_list()
    top = cpu_ops.filter(pl.col("depth") == 0, ~pl.col("id").is_in(ids))
    return subtract(of_frame(top), loading), nothing, cpu_ops.filter(pl.col("depth") == 0).drop_nulls("step")


def _collections(annotations: pl.DataFrame | None) -> Spans:
    if annotations is None:
        return merge([], [])
    marked = annotations.filter(~pl.col("on_device"), pl.col("name").cast(pl.String).str.contains(COLLECTION))
    return union(of_frame(marked))
