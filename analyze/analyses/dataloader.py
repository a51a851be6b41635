"""How does the loop get its batches: how long does it wait, who loads, how much is moved to the device?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("source", pl.String, "", "trace (profiled steps) or step log (unprofiled steps)"),
    Column("waits", pl.Int64, "", "waits measured"),
    Column("mean_ns", pl.Float64, "ns", "mean wait per step"),
    Column("p50_ns", pl.Float64, "ns", "median wait"),
    Column("p99_ns", pl.Float64, "ns", "99th percentile"),
    Column("max_ns", pl.Int64, "ns", "longest wait"),
    Column("step_fraction", pl.Float64, "", "share of the time of the steps that the waits belong to; null without step times"),
    Column("loads_itself", pl.Boolean, "", "the loop's own thread loads; null where unknown"),
    Column("workers", pl.Int64, "", "worker processes; null where unknown"),
    Column("bytes_per_step", pl.Float64, "bytes", "mean bytes copied from host to device per profiled step; null without copies"),
)


def dataloader(
    step_time: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """One row per source of waits. Raises MissingData where neither the trace nor a step log has any."""
    workers = (manifest or {}).get("workers")
    itself = None if input_wait is None else input_wait["loads_itself"].drop_nulls().first()
    shared = [
        pl.lit(itself if itself is not None else None if workers is None else workers == 0, dtype=pl.Boolean).alias(
            "loads_itself"
        ),
        pl.lit(workers, dtype=pl.Int64).alias("workers"),
        pl.lit(_bytes_per_step(copies, step_time), dtype=pl.Float64).alias("bytes_per_step"),
    ]
    rows = [
        waits.select(
            pl.lit(source).alias("source"),
            pl.len().cast(pl.Int64).alias("waits"),
            pl.col("wait_ns").mean().alias("mean_ns"),
            pl.col("wait_ns").quantile(0.5, "linear").alias("p50_ns"),
            pl.col("wait_ns").quantile(0.99, "linear").alias("p99_ns"),
            pl.col("wait_ns").max().alias("max_ns"),
            (pl.col("wait_ns").filter(pl.col("step_ns") > 0).sum() / pl.col("step_ns").sum())
            .fill_nan(None)
            .alias("step_fraction"),
            *shared,
        )
        for source, waits in (("trace", _traced(input_wait, step_time)), ("step log", _logged(step_time)))
        if not waits.is_empty()
    ]
    if not rows:
        raise MissingData("neither the trace nor a step log says how long the loop waited for input")
    return pl.concat(rows).select(column.name for column in COLUMNS)


def _traced(input_wait: pl.DataFrame | None, step_time: pl.DataFrame | None) -> pl.DataFrame:
    """Wait per profiled step, steps without a wait included."""
    empty = pl.DataFrame(schema={"wait_ns": pl.Int64, "step_ns": pl.Int64})
    if input_wait is None:
        return empty
    waits = input_wait.group_by("step").agg(wait_ns=pl.col("dur_ns").sum())
    if step_time is None or step_time.filter("profiled").is_empty():
        return input_wait.select(wait_ns="dur_ns", step_ns=pl.lit(None, dtype=pl.Int64))
    steps = step_time.filter("profiled").select("step", "step_ns")
    return steps.join(waits.drop_nulls("step"), on="step", how="left").select(pl.col("wait_ns").fill_null(0), "step_ns")


def _logged(step_time: pl.DataFrame | None) -> pl.DataFrame:
    if step_time is None:
        return pl.DataFrame(schema={"wait_ns": pl.Int64, "step_ns": pl.Int64})
    logged = step_time.filter(~pl.col("profiled"), pl.col("input_wait_ns").is_not_null())
    return logged.select(wait_ns="input_wait_ns", step_ns="step_ns")


def _bytes_per_step(copies: pl.DataFrame | None, step_time: pl.DataFrame | None) -> float | None:
    steps = 0 if step_time is None else step_time.filter("profiled").height
    if copies is None or steps == 0:
        return None
    to_device = copies.filter(pl.col("direction").cast(pl.String) == "host-to-device").drop_nulls("step")
    return float(to_device["bytes"].sum()) / steps
