"""Which kernels ran where and when, what kind they are, and who launched them."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.kernel_kinds import with_kind
from analyze.schema import TABLES
from analyze.tables._launched import with_launch


def kernels(device_events: pl.LazyFrame, launches: pl.DataFrame | None = None) -> pl.DataFrame:
    """Kernels and memsets in order of their start; a kernel belongs to the step in which it was launched."""
    work = device_events.filter(pl.col("kind").is_in(["kernel", "memset"])).drop_nulls("dur_ns").sort("start_ns").collect()
    if work.is_empty():
        raise MissingData(
            "the trace holds launches but no device work: its device side is missing"
            if launches is not None and launches["name"].cast(pl.String).str.contains("(?i)launch").any()
            else "the trace holds no device work"
        )
    is_memset = pl.col("kind_of_event") == "memset"
    named = with_kind(work.rename({"kind": "kind_of_event"})).with_columns(
        kind=pl.when(is_memset).then(pl.lit("memset", dtype=pl.Categorical)).otherwise(pl.col("kind"))
    )
    return with_launch(named, launches).select(column.name for column in TABLES["kernels"])
