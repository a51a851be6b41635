"""Where does the host do something long, other than launching, between two launches?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.intervals import covered_per_window, of_frame
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.replay import Replay

COLUMNS = (
    Column("start_ns", pl.Int64, "ns", "end of the launching or waiting call before"),
    Column("dur_ns", pl.Int64, "ns", "until the next such call"),
    Column("events", pl.Int64, "", "events recorded in it: few mean plain Python, many mean operators"),
    Column("operators_ns", pl.Int64, "ns", "part covered by operators"),
    Column("input_wait_ns", pl.Int64, "ns", "part in which the loop waited for its next batch"),
    Column("longest_op_id", pl.Int64, "", "longest top-level operator that begins in it; null where there is none"),
    Column("longest_op_ns", pl.Int64, "ns", "duration of that operator"),
    Column("annotation", pl.String, "", "longest annotation that begins in it, step markers and the optimizer apart"),
)

#: shorter stretches are launching
MIN_STRETCH_NS = 1_000_000
NOT_THE_USERS = r"^(ProfilerStep#|Optimizer\.|enumerate\(DataLoader\)|stepscope\.|gc\.collect)"


def host_stretches(
    replay: Replay,
    cpu_ops: pl.DataFrame | None = None,
    annotations: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Long gaps between the calls of the replayed window, with what covers them, longest first."""
    program = replay.program
    length = program.call_start - program.gap_start
    index = np.flatnonzero(length >= MIN_STRETCH_NS)
    start, end = program.gap_start[index], program.call_start[index]
    nothing = np.zeros(index.size, dtype=np.int64)
    threads = pl.DataFrame(list(replay.threads), schema=["process", "thread"], orient="row").cast(pl.Categorical)
    top = None if cpu_ops is None else cpu_ops.filter(pl.col("depth") == 0).join(threads, on=["process", "thread"], how="semi")
    frame = pl.DataFrame(
        {
            "start_ns": start,
            "dur_ns": end - start,
            "events": program.gap_events[index].astype(np.int64),
            "operators_ns": nothing if top is None else covered_per_window(of_frame(top), start, end),
            "input_wait_ns": nothing if input_wait is None else covered_per_window(of_frame(input_wait), start, end),
        }
    )
    frame = _with_longest(frame, top, "longest_op_id", "longest_op_ns")
    labels = None
    if annotations is not None:
        own = ~pl.col("on_device") & ~pl.col("name").cast(pl.String).str.contains(NOT_THE_USERS)
        labels = annotations.filter(own)
    frame = _with_longest(frame, labels, "label_id", "label_ns")
    names = pl.DataFrame(schema={"label_id": pl.Int64, "annotation": pl.String})
    if labels is not None:
        names = labels.select(label_id="id", annotation=pl.col("name").cast(pl.String))
    return (
        frame.join(names, on="label_id", how="left").sort("dur_ns", descending=True).select([column.name for column in COLUMNS])
    )


def _with_longest(stretches: pl.DataFrame, spans: pl.DataFrame | None, id_name: str, ns_name: str) -> pl.DataFrame:
    """Add id and duration of the longest span that begins within each stretch."""
    if spans is None or spans.is_empty():
        return stretches.with_columns(pl.lit(None, dtype=pl.Int64).alias(id_name), pl.lit(None, dtype=pl.Int64).alias(ns_name))
    ordered = stretches.sort("start_ns").with_row_index("stretch")
    bounds = ordered.select("stretch", "start_ns", until=pl.col("start_ns") + pl.col("dur_ns"))
    longest = (
        spans.select("start_ns", "id", "dur_ns")
        .sort("start_ns")
        .join_asof(bounds, on="start_ns", strategy="backward")
        .filter(pl.col("start_ns") < pl.col("until"))
        .sort("dur_ns", descending=True)
        .unique("stretch", keep="first", maintain_order=True)
        .select("stretch", pl.col("id").alias(id_name), pl.col("dur_ns").alias(ns_name))
    )
    return ordered.join(longest, on="stretch", how="left").drop("stretch")
