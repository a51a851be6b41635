"""Public recordings that HTA's reference numbers are known for; tests skip where they are not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyze import ingest

SHARED = Path(__file__).parents[2].parent / "shared"
PUBLIC = SHARED / "traces" / "public" / "facebookresearch__HolisticTraceAnalysis" / "tests" / "data"
PATHS = {
    "nccl_data": PUBLIC / "nccl_parser_config" / "nccl_data.json.gz",
    "trace_filter": PUBLIC / "trace_filter" / "sampled_rank-1.json.gz",
    "ns_resolution": PUBLIC / "ns_resolution_trace" / "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "alexnet": PUBLIC / "critical_path" / "alexnet" / "benchmark_result_2869224_1695835535_trace.json.gz",
    "mi250": PUBLIC / "amd_trace" / "mi250_minitoy_train_ROCm6_2_kineto.json.gz",
    "clean": SHARED / "planted" / "traces" / "clean.bad.pt.trace.json.gz",
    "pageable": SHARED / "planted" / "traces" / "pageable_h2d.bad.pt.trace.json.gz",
}


def trace(name):
    path = PATHS[name]
    if not path.exists():
        pytest.skip(f"no recording at {path.relative_to(SHARED.parent)}")
    return ingest.read([str(path)], cache=False).traces[0]
