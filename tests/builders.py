"""Families and tables written row by row, so that a test shows its whole trace.

Times are nanoseconds. What a row leaves out is null, as ingest leaves it; `id` is the row's position unless given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.analyses.step_time import COLUMNS as STEP_TIME
from analyze.schema import FAMILIES, TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analyze.schema import Column

Row = dict[str, Any]


def frame(columns: Iterable[Column], *rows: Row) -> pl.DataFrame:
    """A frame with exactly these columns; a row that names another column is a mistake in the test."""
    schema = {column.name: column.dtype for column in columns}
    unknown = {key for row in rows for key in row} - schema.keys()
    assert not unknown, f"no such columns: {sorted(unknown)}"
    numbered = [{"id": position} | row if "id" in schema else row for position, row in enumerate(rows)]
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in numbered], schema=schema)


def family(name: str, *rows: Row) -> pl.LazyFrame:
    """One of schema.FAMILIES."""
    return frame(FAMILIES[name], *rows).lazy()


def table(name: str, *rows: Row) -> pl.DataFrame:
    """One of schema.TABLES."""
    return frame(TABLES[name], *rows)


def span(start_ns: int, end_ns: int, name: str = "", **more: object) -> Row:
    """A row with start_ns and dur_ns from a start and an end."""
    return ({"name": name} if name else {}) | {"start_ns": start_ns, "dur_ns": end_ns - start_ns} | more


def kernel(start_ns: int, end_ns: int, name: str = "a_kernel", **more: object) -> Row:
    """Device event of a kernel; device 0, stream 7."""
    return span(start_ns, end_ns, name, **({"kind": "kernel", "device": 0, "stream": 7} | more))


def memcpy(start_ns: int, end_ns: int, name: str = "Memcpy HtoD (Pageable -> Device)", **more: object) -> Row:
    """Device event of a copy; device 0, stream 7."""
    return span(start_ns, end_ns, name, **({"kind": "memcpy", "device": 0, "stream": 7} | more))


def on_thread(start_ns: int, end_ns: int, name: str, **more: object) -> Row:
    """Host event of process 1, thread 1."""
    return span(start_ns, end_ns, name, **({"process": "1", "thread": "1"} | more))


def launch(start_ns: int, end_ns: int, name: str = "cudaLaunchKernel", **more: object) -> Row:
    """Row of the launches table: process 1, thread 1, starts one work item, waits for nothing."""
    defaults = {"process": "1", "thread": "1", "work_count": 1, "blocking": "none", "profiler_overhead": False}
    return span(start_ns, end_ns, name, **(defaults | more))


def work(start_ns: int, end_ns: int, name: str = "a_kernel", **more: object) -> Row:
    """Row of the kernels table: device 0, stream 7, elementwise."""
    return span(start_ns, end_ns, name, **({"device": 0, "stream": 7, "kind": "elementwise"} | more))


def copy(start_ns: int, end_ns: int, name: str = "Memcpy HtoD (Pageable -> Device)", **more: object) -> Row:
    """Row of the copies table: host to device from pageable memory, device 0, stream 7."""
    defaults = {"device": 0, "stream": 7, "direction": "host-to-device", "host_memory": "pageable"}
    return span(start_ns, end_ns, name, **(defaults | more))


def operator(start_ns: int, end_ns: int, name: str, **more: object) -> Row:
    """Row of the cpu_ops table: process 1, thread 1, at the top, all time its own."""
    defaults = {"process": "1", "thread": "1", "depth": 0, "self_ns": end_ns - start_ns}
    return span(start_ns, end_ns, name, **(defaults | more))


def step(number: int, start_ns: int, end_ns: int, **more: object) -> Row:
    """Row of the steps table, from a marker, in cycle 0."""
    return span(start_ns, end_ns, **({"step": number, "cycle": 0, "inferred": False} | more))


def marker(number: int, start_ns: int, end_ns: int) -> Row:
    """Annotation event that marks a step."""
    return on_thread(start_ns, end_ns, f"ProfilerStep#{number}", on_device=False)


def step_times(*rows: Row) -> pl.DataFrame:
    """Result of step_time, of rows by timed()."""
    return frame(STEP_TIME, *rows)


def timed(number: int, start_ns: int, end_ns: int, **more: object) -> Row:
    """Row of step_time: a profiled step of cycle 0."""
    return {"step": number, "start_ns": start_ns, "step_ns": end_ns - start_ns, "profiled": True, "cycle": 0} | more
