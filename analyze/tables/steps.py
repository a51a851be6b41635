"""Which stretches of the recording are training steps."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import TABLES
from analyze.tables._step_inference import infer

MARKER = r"^ProfilerStep#(\d+)$"


def steps(
    annotation_events: pl.LazyFrame, runtime_events: pl.LazyFrame, op_events: pl.LazyFrame, device_events: pl.LazyFrame
) -> pl.DataFrame:
    """Steps by the profiler's markers, else inferred from optimizer calls or a repeating launch sequence.

    Raises MissingData where the trace has neither: then only whole-trace figures make sense.
    """
    marked = (
        annotation_events.filter(~pl.col("on_device").fill_null(value=False), pl.col("dur_ns").is_not_null())
        .with_columns(step=pl.col("name").cast(pl.String).str.extract(MARKER).cast(pl.Int64, strict=False))
        .drop_nulls("step")
        .select("step", "start_ns", "dur_ns")
        .unique(["step", "start_ns"])
        .sort("start_ns")
        .collect()
    )
    found = marked.with_columns(inferred=False)
    if marked.is_empty():
        found = infer(annotation_events, runtime_events, op_events, device_events).with_columns(inferred=True)
    if found.is_empty():
        raise MissingData("the trace marks no steps, and none could be inferred")
    restarts = (pl.col("step") <= pl.col("step").shift(1)).fill_null(value=False).cum_sum()
    return found.with_columns(cycle=restarts.cast(pl.Int64)).select(column.name for column in TABLES["steps"])
