"""When does the training loop wait for its next batch?"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("id", pl.Int64, "", "event id"),
    Column("step", pl.Int64, "", "step during which the wait began; null outside steps"),
    Column("thread", pl.Categorical, "", "thread lane"),
    Column("start_ns", pl.Int64, "ns", "start"),
    Column("dur_ns", pl.Int64, "ns", "duration"),
    Column("loads_itself", pl.Boolean, "", "the loop's own thread loads the batch (no workers); null where unknown"),
)

#: torch's own label around a loader's __next__, its older one, and the recorder's for other iterables
WAIT = r"^enumerate\(DataLoader\)|DataLoaderIter\.__next__$|^stepscope\.input_wait$"
SINGLE, SEVERAL = "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter"


def input_wait(annotation_events: pl.LazyFrame, op_events: pl.LazyFrame, steps: pl.DataFrame | None = None) -> pl.DataFrame:
    """Waits of the outermost loader; raises MissingData where the trace has no such span (not the same as no wait)."""
    columns = ["id", "name", "thread", "start_ns", "dur_ns"]
    name = pl.col("name").cast(pl.String)
    spans = [
        annotation_events.filter(~pl.col("on_device").fill_null(value=False)).select(columns),
        op_events.select(columns),
    ]
    labels = pl.concat(spans).filter(name.str.contains(WAIT)).drop_nulls("dur_ns")
    found = labels.sort("start_ns", "dur_ns", descending=[False, True]).collect()
    if found.is_empty():
        raise MissingData("the trace has no loader spans: the input wait was not recorded")
    finish = pl.col("start_ns") + pl.col("dur_ns")
    outermost = found.filter((pl.col("start_ns") >= finish.cum_max().shift(1).over("thread")).fill_null(value=True))
    loads_itself = pl.when(name.str.contains(SINGLE)).then(True).when(name.str.contains(SEVERAL)).then(False)
    bounds = None if steps is None else steps.select("step", "start_ns", step_end=pl.col("start_ns") + pl.col("dur_ns"))
    labelled = outermost.with_columns(loads_itself=loads_itself, step=pl.lit(None, dtype=pl.Int64))
    if bounds is not None:
        labelled = labelled.drop("step").join_asof(bounds.sort("start_ns"), on="start_ns", strategy="backward")
        labelled = labelled.with_columns(step=pl.when(pl.col("start_ns") < pl.col("step_end")).then(pl.col("step")))
    return labelled.select(column.name for column in COLUMNS)
