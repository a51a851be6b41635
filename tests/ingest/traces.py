"""Writes small trace files whose every byte the test can state."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.ingest import Trace, read

if TYPE_CHECKING:
    from pathlib import Path

HEADER = '{"schemaVersion": 1, "displayTimeUnit": "ms",'
#: families that hold timed events
TIMED = (
    "device_events",
    "runtime_events",
    "op_events",
    "python_events",
    "annotation_events",
    "sync_events",
    "memory_events",
    "overhead_events",
    "other_events",
)


def op(name: str = "aten::add", ts: str = "1000.000", dur: str = "1.000", **more: str) -> str:
    """One operator's text, written as given: `ts` and `dur` are the file's own digits."""
    extra = "".join(f', "{key}": {value}' for key, value in more.items())
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": {dur}{extra}}}'


def kernel(name: str = "gemm", ts: str = "1000", dur: str = "1", args: str = '{"device": 0, "stream": 7}') -> str:
    return f'{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {args}}}'


def text(*events: str, header: str = HEADER, tail: str = "]}") -> str:
    return f'{header} "traceEvents": [' + ",\n".join(events) + tail


def write(path: Path, content: str | bytes | dict[str, Any]) -> Path:
    data = (
        json.dumps(content).encode() if isinstance(content, dict) else content.encode() if isinstance(content, str) else content
    )
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


def only(path: Path) -> Trace:
    """The single trace of a file, parsed afresh in this process."""
    (trace,) = read(path, cache=False).traces
    return trace


def rows(trace: Trace, family: str, *columns: str) -> list[Any]:
    """Cells of a family, as a list of values for one column, of tuples for several."""
    frame = trace.frames[family].select(columns).collect()
    frame = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return frame.to_series().to_list() if len(columns) == 1 else frame.rows()


def count(trace: Trace) -> int:
    """Timed events outside the quarantine."""
    return sum(trace.frames[family].select(pl.len()).collect().item() for family in TIMED)


def quality(trace: Trace) -> dict[str, int]:
    return dict(trace.data_quality.select("cause", "count").rows())


def first_byte(trace: Trace, cause: str) -> int | None:
    found = trace.data_quality.filter(pl.col("cause") == cause)["first_byte"]
    return None if found.is_empty() else found[0]
