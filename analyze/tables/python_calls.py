"""Which Python functions ran, with the file and line of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.errors import MissingData
from analyze.schema import TABLES

if TYPE_CHECKING:
    import polars as pl


def python_calls(python_events: pl.LazyFrame) -> pl.DataFrame:
    """Python calls in start order."""
    events = python_events.drop_nulls("dur_ns").sort("start_ns").collect()
    if events.is_empty():
        raise MissingData("the trace was recorded without stacks (with_stack=True records them)")
    return events.select([column.name for column in TABLES["python_calls"]])
