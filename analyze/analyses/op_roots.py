"""Which top-level operator does each operator belong to?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("id", pl.Int64, "", "operator"),
    Column("root_id", pl.Int64, "", "outermost operator around it on its thread, itself where it is one"),
    Column("root_name", pl.Categorical, "", "name of that operator"),
    Column("start_ns", pl.Int64, "ns", "start of that operator"),
    Column("dur_ns", pl.Int64, "ns", "duration of that operator"),
)


def op_roots(cpu_ops: pl.DataFrame) -> pl.DataFrame:
    """One row per operator; the root is the latest top-level operator begun on the same thread."""
    lane = ["process", "thread"]
    roots = (
        cpu_ops.filter(pl.col("depth") == 0)
        .sort("start_ns")
        .select(*lane, "start_ns", "dur_ns", root_id="id", root_name="name", root_start="start_ns")
    )
    return (
        cpu_ops.sort("start_ns")
        .select("id", *lane, "start_ns")
        .join_asof(roots, on="start_ns", by=lane, strategy="backward", check_sortedness=False)
        .select("id", "root_id", "root_name", start_ns="root_start", dur_ns="dur_ns")
    )
