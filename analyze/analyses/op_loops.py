"""Where does the same short sequence of operators repeat many times: a Python loop over samples, time steps or parameters?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.schema import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = (
    Column("process", pl.Categorical, "", "process lane"),
    Column("thread", pl.Categorical, "", "thread lane"),
    Column("step", pl.Int64, "", "step"),
    Column("period", pl.Int64, "", "top-level operators of one iteration"),
    Column("repeats", pl.Int64, "", "iterations"),
    Column("start_ns", pl.Int64, "ns", "start of the first operator"),
    Column("dur_ns", pl.Int64, "ns", "until the end of the last operator"),
    Column("operators", pl.String, "", "operators of one iteration"),
    Column("first_op_id", pl.Int64, "", "first operator"),
    Column("launches", pl.Int64, "", "device work items started within"),
    Column("device_ns", pl.Int64, "ns", "summed duration of that work"),
    Column("kinds", pl.String, "", "kinds of that work"),
    Column("waits", pl.Int64, "", "calls within that wait for the device"),
)

#: longest iteration looked for, in top-level operators
MAX_PERIOD = 40
#: fewer iterations are layers of a model as often as a loop over data
MIN_REPEATS = 32
#: operators named in the text
NAMED = 6


def op_loops(cpu_ops: pl.DataFrame, launches: pl.DataFrame | None = None, kernels: pl.DataFrame | None = None) -> pl.DataFrame:
    """Maximal repetitions of top-level operator names within a step, on every thread, shortest period first."""
    top = cpu_ops.filter(pl.col("depth") == 0, pl.col("step").is_not_null()).sort("start_ns")
    found = []
    for (process, thread, step), mine in top.group_by("process", "thread", "step", maintain_order=True):
        codes = mine["name"].to_physical().to_numpy()
        for first, last, period in repetitions(codes):
            names = mine["name"].slice(first, period).cast(pl.String).unique(maintain_order=True).to_list()
            begin, end = int(mine["start_ns"][first]), int(mine["start_ns"][last - 1] + mine["dur_ns"][last - 1])
            text = ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")
            found.append((process, thread, step, period, (last - first) // period, begin, end - begin, text, mine["id"][first]))
    schema = {column.name: column.dtype for column in COLUMNS}
    loops = pl.DataFrame(found, schema=dict(list(schema.items())[:9]), orient="row")
    if launches is None or kernels is None:
        nothing = pl.lit(0, dtype=pl.Int64)
        return loops.with_columns(launches=nothing, device_ns=nothing, kinds=pl.lit(""), waits=nothing).select(list(schema))
    return _with_work(loops, launches, kernels).select(list(schema))


def repetitions(codes: NDArray[np.uint32]) -> list[tuple[int, int, int]]:
    """(first, last, period) of repeating stretches, disjoint, at least MIN_REPEATS iterations each."""
    taken = np.zeros(codes.size, dtype=np.bool_)
    found: list[tuple[int, int, int]] = []
    for period in range(1, min(MAX_PERIOD, codes.size // MIN_REPEATS) + 1):
        same = np.concatenate([[False], codes[period:] == codes[:-period], [False]])
        edges = np.flatnonzero(np.diff(same.astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - begin >= period * (MIN_REPEATS - 1) and not taken[begin : end + period].any():
                taken[begin : end + period] = True
                found.append((begin, end + period, period))
    return sorted(found)


def _with_work(loops: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Add launches, device_ns and kinds of what each loop started."""
    lane = ["process", "thread"]
    bounds = loops.with_row_index("loop").select("loop", *lane, "start_ns", until=pl.col("start_ns") + pl.col("dur_ns"))
    waiting = pl.col("blocking").cast(pl.String) != "none"
    within = (
        launches.filter((pl.col("work_count") > 0) | waiting)
        .sort("start_ns")
        .join_asof(bounds.sort("start_ns"), on="start_ns", by=lane, strategy="backward", check_sortedness=False)
        .filter(pl.col("start_ns") < pl.col("until"))
        .select("loop", launch_id="id", waiting=waiting)
    )
    waits = within.group_by("loop").agg(waits=pl.col("waiting").sum().cast(pl.Int64))
    work = (
        within.join(kernels.select("launch_id", "dur_ns", "kind"), on="launch_id")
        .group_by("loop")
        .agg(
            launches=pl.len().cast(pl.Int64),
            device_ns=pl.col("dur_ns").sum(),
            kinds=pl.col("kind").cast(pl.String).unique().sort().str.join(", "),
        )
    )
    return (
        loops.with_row_index("loop")
        .join(work, on="loop", how="left", maintain_order="left")
        .join(waits, on="loop", how="left", maintain_order="left")
        .with_columns(pl.col("launches", "device_ns", "waits").fill_null(0), pl.col("kinds").fill_null(""))
    )
