"""When does each device idle, and what is the host doing meanwhile?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.analyses._blocked import blocked_spans
from analyze.intervals import covered_per_window, gaps, merge, of_frame, subtract, union
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Spans

CAUSES = ("input_wait", "blocking_copy", "synchronisation", "allocation", "launch", "exchange", "other")

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("step", pl.Int64, "", "step in whose time the gap lies; a gap over a boundary is two rows"),
    Column("start_ns", pl.Int64, "ns", "start of the idle span"),
    Column("dur_ns", pl.Int64, "ns", "length of the idle span"),
    Column("cause", pl.Categorical, "", "what the launching threads did for most of it"),
    Column("input_wait_ns", pl.Int64, "ns", "part in which the loop waited for its next batch"),
    Column("blocking_copy_ns", pl.Int64, "ns", "part in which a copy held the host"),
    Column("synchronisation_ns", pl.Int64, "ns", "part in which a synchronising call held the host"),
    Column("allocation_ns", pl.Int64, "ns", "part in which device memory was allocated or freed"),
    Column("launch_ns", pl.Int64, "ns", "part in which operators prepared and launched work"),
    Column("exchange_ns", pl.Int64, "ns", "part in which the ranks exchanged data over the host, and nothing else went on"),
    Column("other_ns", pl.Int64, "ns", "part in which the host did something else: Python, logging, I/O"),
)


def gpu_gaps(
    kernels: pl.DataFrame,
    step_time: pl.DataFrame,
    copies: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
    collective_calls: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Idle spans of each device within the profiled steps, lead-in and tail included, split by cause.

    Causes are looked for on the threads that launch work, in the order of CAUSES: an instant has one cause only.
    """
    windows = step_time.filter("profiled").sort("start_ns")
    host = _host_spans(launches, cpu_ops, input_wait, blocked_spans(collective_calls, on_host_only=True))
    frames = []
    for device in kernels["device"].unique().sort():
        on_device = pl.col("device") == device if device is not None else pl.col("device").is_null()
        busy = union(*(of_frame(frame.filter(on_device)) for frame in (kernels, copies) if frame is not None))
        starts, ends, steps = _idle_by_step(busy, windows)
        parts = {f"{cause}_ns": covered_per_window(host[cause], starts, ends) for cause in CAUSES[:-1]}
        parts["other_ns"] = ends - starts - sum(parts.values(), np.zeros(starts.size, dtype=np.int64))
        largest = np.argmax(np.stack([parts[f"{cause}_ns"] for cause in CAUSES]), axis=0)
        frames.append(
            pl.DataFrame(
                {
                    "device": [device] * starts.size,
                    "step": steps,
                    "start_ns": starts,
                    "dur_ns": ends - starts,
                    "cause": pl.Series(np.array(CAUSES)[largest], dtype=pl.String),
                    **parts,
                },
                schema={column.name: column.dtype for column in COLUMNS},
            )
        )
    return pl.concat(frames)


def _idle_by_step(busy: Spans, windows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = []
    for step, start, length in windows.select("step", "start_ns", "step_ns").rows():
        begin, end = gaps(busy, start, start + length)
        found.append((begin, end, np.full(begin.size, step, dtype=np.int64)))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    starts, ends, steps = (np.concatenate(column) for column in zip(*found, strict=True))
    return starts, ends, steps


def _host_spans(
    launches: pl.DataFrame | None, cpu_ops: pl.DataFrame | None, input_wait: pl.DataFrame | None, exchanging: Spans
) -> dict[str, Spans]:
    """Disjoint spans by cause on the launching threads."""
    nothing = merge([], [])
    raw = dict.fromkeys(CAUSES[:-1], nothing) | {"exchange": exchanging}
    if input_wait is not None:
        raw["input_wait"] = of_frame(input_wait)
    if launches is not None:
        blocking = pl.col("blocking").cast(pl.String)
        raw["blocking_copy"] = of_frame(launches.filter(blocking == "copy"))
        raw["synchronisation"] = of_frame(launches.filter(blocking.is_in(["device", "stream", "event"])))
        raw["allocation"] = of_frame(launches.filter(blocking.is_in(["allocation", "free"])))
        threads = launches.filter(pl.col("work_count") > 0).select("process", "thread").unique()
        calls = launches.join(threads, on=["process", "thread"], how="semi")
        operators = None if cpu_ops is None else cpu_ops.filter(pl.col("depth") == 0)
        own = [] if operators is None else [of_frame(operators.join(threads, on=["process", "thread"], how="semi"))]
        raw["launch"] = union(of_frame(calls), *own)
    taken, disjoint = nothing, {}
    for cause in CAUSES[:-1]:
        disjoint[cause] = subtract(raw[cause], taken)
        taken = union(taken, raw[cause])
    return disjoint
