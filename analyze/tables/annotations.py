"""Which spans the user or a library labelled, on the host and projected on the device."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import TABLES
from analyze.tables._in_step import with_step


def annotations(  # type: ignore[no-redef]  # the table is named like the future import
    annotation_events: pl.LazyFrame, steps: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Labelled spans, step markers included. Those on the device are no work and belong to no step."""
    events = annotation_events.drop_nulls("dur_ns").collect()
    if events.is_empty():
        raise MissingData("the trace has no annotations (record_function adds them)")
    on_device = pl.col("on_device").fill_null(value=False)
    labelled = with_step(events, steps).with_columns(on_device=on_device, step=pl.when(~on_device).then(pl.col("step")))
    return labelled.select(column.name for column in TABLES["annotations"])
