"""Trace files of a few ranks, written event by event as Kineto writes them. Times are in µs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BASE_NS = 1_759_300_074_000_000_000
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def step_events(
    step: int,
    begin: float,
    compute: float,
    wait: float,
    *,
    pid: int = 100,
    device: int = 0,
    correlation: int = 1,
    rank_lane: str = "",
) -> list[dict[str, Any]]:
    """One step: two launches, a kernel, and an all-reduce that takes `wait` after it."""
    host = {"pid": pid, "tid": pid}
    on_device = {"pid": f"{rank_lane}{device}" if rank_lane else device}
    args = {"device": device, "stream": 7}
    reduced = {"stream": 20, "Collective name": "allreduce", "Process Group Name": "0", "dtype": "Float"}
    reduced |= {"In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2}
    return [
        {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begin, "dur": compute + wait} | host,
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": begin + 1, "dur": 9} | host,
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": begin + 2, "dur": 3, "args": {"correlation": correlation}}
        | host,
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": begin + 12, "dur": 3,
         "args": {"correlation": correlation + 1}} | host,
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": begin + 20, "dur": compute + wait - 20} | host,
        {"ph": "X", "cat": "kernel", "name": "sgemm", "ts": begin + 10, "dur": compute - 10, "tid": 7,
         "args": args | {"correlation": correlation}} | on_device,
        {"ph": "X", "cat": "kernel", "name": ALL_REDUCE, "ts": begin + compute, "dur": wait, "tid": 20,
         "args": args | reduced | {"correlation": correlation + 1}} | on_device,
    ]  # fmt: skip


def write(path: Path, events: list[dict[str, Any]], rank: int | None = None, world: int = 2, shift_ns: int = 0) -> Path:
    """A trace file; without a rank it has no distributedInfo."""
    info = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": world, "backend": "nccl"}}
    header = {"schemaVersion": 1, "baseTimeNanoseconds": BASE_NS + shift_ns, **info}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(header | {"traceEvents": events}))
    return path


def trace(
    path: Path,
    computes: list[float],
    slowest: float,
    *,
    rank: int | None = None,
    world: int = 2,
    first: int = 3,
    shift_ns: int = 0,
) -> Path:
    """Steps that compute this long and then wait until `slowest` and a transfer of 20 µs have passed."""
    events = []
    for number, compute in enumerate(computes):
        begin = 1_000 + number * (slowest + 20)
        events += step_events(first + number, begin, compute, slowest - compute + 20, correlation=10 * number + 1)
    return write(path, events, rank, world, shift_ns)


def pair(folder: Path, *, slow: float = 800.0, fast: float = 500.0, steps: int = 4, shift_ns: int = 0, **first: int) -> Path:
    """Two ranks, the second of which computes longer."""
    trace(folder / "rank0.json", [fast] * steps, slow, rank=0, first=first.get("first0", 3))
    trace(folder / "rank1.json", [slow] * steps, slow, rank=1, first=first.get("first1", 3), shift_ns=shift_ns)
    return folder
