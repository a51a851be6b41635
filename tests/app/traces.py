"""A trace as torch.profiler writes it, small enough to read here: every step waits for a copy from pageable memory."""

from __future__ import annotations

import gzip
import json

STEPS = 4
STEP_US = 20_000


def trace(kernel_name: str = "sm90_xmma_gemm") -> bytes:
    """The file, gzipped."""
    events = [event for step in range(STEPS) for event in _step(step, kernel_name)]
    document = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000}],
        "baseTimeNanoseconds": 1_764_000_000_000_000_000,
        "traceEvents": events,
    }
    return gzip.compress(json.dumps(document).encode())


def _step(step: int, kernel_name: str) -> list[dict[str, object]]:
    at, copy, launch = 1_000.0 + step * STEP_US, 2 * step + 1, 2 * step + 2
    host = {"ph": "X", "pid": 1, "tid": 1}
    device = {"ph": "X", "pid": 0, "tid": 7}
    return [
        {**host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": STEP_US},
        {**host, "cat": "cpu_op", "name": "aten::copy_", "ts": at + 100, "dur": 12_000, "args": {"External id": copy}},
        {
            **host, "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "ts": at + 200, "dur": 11_800,
            "args": {"correlation": copy, "External id": copy},
        },
        {
            **device, "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "ts": at + 1_000, "dur": 11_000,
            "args": {"device": 0, "stream": 7, "correlation": copy, "External id": copy, "bytes": 66_000_000},
        },
        {**host, "cat": "cpu_op", "name": "aten::mm", "ts": at + 12_500, "dur": 60, "args": {"External id": launch}},
        {
            **host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 12_510, "dur": 10,
            "args": {"correlation": launch, "External id": launch},
        },
        {
            **device, "cat": "kernel", "name": kernel_name, "ts": at + 12_600, "dur": 7_000,
            "args": {"device": 0, "stream": 7, "correlation": launch, "External id": launch},
        },
    ]  # fmt: skip
