"""Which host calls talked to the device, what each started, and what each waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.intervals import covered_per_window, of_frame
from analyze.nesting import innermost, nest
from analyze.schema import TABLES
from analyze.tables._in_step import with_step

if TYPE_CHECKING:
    import numpy as np

#: call names without vendor prefix → what the call waits for; first match wins
BLOCKING = (
    ("device", r"^(Device|Ctx)Synchronize"),
    ("stream", r"^StreamSynchronize"),
    ("event", r"^EventSynchronize"),
    ("free", r"^(Free|FreeHost|MemFree|MemUnmap|MemRelease|FreeArray|HostFree)(_v\d)?$"),
    (
        "allocation",
        r"^(Malloc|HostAlloc|MallocHost|MemAlloc|MallocManaged|MemCreate|MemMap|HostMalloc|ExtMallocWithFlags)",
    ),
    (
        "copy",
        r"^(Memcpy|MemcpyWithStream|Memcpy2D|MemcpyHtoD|MemcpyDtoH|MemcpyDtoD|MemcpyToSymbol|MemcpyFromSymbol)(_v\d)?$",
    ),
)
VENDOR_PREFIX = r"^(cuda|cu|hip|mtia|ze|ur|acl|musa)"


def launches(
    runtime_events: pl.LazyFrame,
    device_events: pl.LazyFrame,
    op_events: pl.LazyFrame,
    overhead_events: pl.LazyFrame,
    steps: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Runtime and driver calls with the number of work items started, the enclosing operator and the kind of wait.

    An asynchronous copy from or to pageable memory waits for its copy, whatever its name says.
    """
    calls = runtime_events.drop_nulls("dur_ns").collect()
    if calls.is_empty():
        raise MissingData("the trace has no device runtime calls")
    work = (
        device_events.filter(pl.col("correlation").is_not_null())
        .group_by("correlation")
        .agg(
            work_count=pl.len().cast(pl.Int64),
            pageable=pl.col("name").cast(pl.String).str.contains("(?i)pageable").any(),
        )
    )
    linked = calls.join(work.collect(), on="correlation", how="left", maintain_order="left").with_columns(
        # one correlation on several calls says nothing about which of them started the work
        ambiguous=pl.col("correlation").is_duplicated() & pl.col("correlation").is_not_null()
    )
    linked = linked.with_columns(
        work_count=pl.when("ambiguous").then(0).otherwise(pl.col("work_count").fill_null(0)),
        blocking=_blocking(),
        op_id=_enclosing_operator(linked, op_events),
        profiler_overhead=_overlaps(linked, overhead_events.drop_nulls("dur_ns").collect()),
    )
    return with_step(linked, steps).select(column.name for column in TABLES["launches"])


def _blocking() -> pl.Expr:
    bare = pl.col("name").cast(pl.String).str.replace(VENDOR_PREFIX, "")
    kind: pl.Expr = pl.when(pl.col("pageable").fill_null(value=False)).then(pl.lit("copy")).otherwise(pl.lit("none"))
    for label, pattern in reversed(BLOCKING):
        kind = pl.when(bare.str.contains(pattern)).then(pl.lit(label)).otherwise(kind)
    return kind.cast(pl.Categorical)


def _enclosing_operator(calls: pl.DataFrame, op_events: pl.LazyFrame) -> pl.Series:
    operators = op_events.select("id", "process", "thread", "start_ns", "dur_ns").drop_nulls("dur_ns").collect()
    lanes = (
        pl.concat([operators.select("process", "thread"), calls.select("process", "thread")])
        .unique(maintain_order=True)
        .with_row_index("lane")
    )

    def lane_of(frame: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        codes = frame.select("process", "thread").join(
            lanes, on=["process", "thread"], how="left", maintain_order="left", nulls_equal=True
        )
        lane: np.ndarray[tuple[int], np.dtype[np.int64]] = codes["lane"].cast(pl.Int64).to_numpy()
        return lane

    if operators.is_empty():
        return pl.Series("op_id", [None] * calls.height, dtype=pl.Int64)
    nesting = nest(lane_of(operators), operators["start_ns"].to_numpy(), operators["dur_ns"].to_numpy())
    row = pl.Series(innermost(nesting, lane_of(calls), calls["start_ns"].to_numpy()))
    enclosing: pl.Series = operators["id"].gather(row.clip(lower_bound=0))
    told: pl.Series = enclosing.zip_with(row >= 0, pl.Series([None], dtype=pl.Int64))
    return told


def _overlaps(calls: pl.DataFrame, overhead: pl.DataFrame) -> pl.Series:
    start = calls["start_ns"].to_numpy()
    return pl.Series(covered_per_window(of_frame(overhead), start, start + calls["dur_ns"].to_numpy()) > 0)
