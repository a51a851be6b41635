"""Recordings made of operators with one or more kernels each, so that a test shows what ran and for how long.

Every operator takes 10 µs on the host and launches its kernels; kernels follow each other on one stream without a gap, so
with kernels of a millisecond the device sets the pace and the step is the sum of its kernels.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyze import engine
from analyze.engine import Workspace
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import Row, family, kernel, marker, on_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.findings.model import Finding

US = 1_000
MS = 1_000_000
HOST_NS = 10 * US
STEPS = 4


@dataclass(frozen=True, kw_only=True)
class Op:
    """One operator and its kernels: (name, duration in ms)."""

    name: str
    kernels: Sequence[tuple[str, float]]
    shapes: Sequence[Any] | None = None
    types: Sequence[str] | None = None
    strides: Sequence[Any] | None = None
    scalars: Sequence[str] | None = None
    more: Row = field(default_factory=dict)


def recorded(*operators: Op, device: str = "NVIDIA A100-SXM4-80GB", multiprocessors: int = 108, **sources: object) -> Workspace:
    """A workspace of a few equal steps that ran these operators."""
    ops, calls, work, markers = [], [], [], []
    device_ns, correlation = 50 * US, 0
    host_step_ns = HOST_NS * len(operators) + HOST_NS
    for step in range(STEPS):
        begin = step * host_step_ns
        markers.append(marker(step, begin, begin + host_step_ns))
        for place, operator in enumerate(operators):
            start = begin + place * HOST_NS + US
            ops.append(on_thread(start, start + HOST_NS - 2 * US, operator.name, **_arguments(operator)))
            for number, (name, dur_ms) in enumerate(operator.kernels):
                correlation += 1
                launched = start + US + number * 200
                calls.append(on_thread(launched, launched + 100, "cudaLaunchKernel", correlation=correlation))
                until = device_ns + round(dur_ms * MS)
                work.append(kernel(device_ns, until, name, correlation=correlation, **operator.more))
                device_ns = until
    # ids are positions in the file: no two events share one
    for number, row in enumerate([*ops, *calls, *work, *markers]):
        row["id"] = number
    names = ("python_events", "sync_events", "memory_events", "overhead_events", "other_events", "flow_events", "quarantine")
    return Workspace(
        {
            "op_events": family("op_events", *ops),
            "runtime_events": family("runtime_events", *calls),
            "device_events": family("device_events", *work),
            "annotation_events": family("annotation_events", *markers),
            **{name: family(name) for name in names},
            "trace_info": TraceInfo(
                producer="kineto-cuda", devices=(DeviceProperties(index=0, name=device, multiprocessors=multiprocessors),)
            ),
            **sources,
        }
    )


def findings(workspace: Workspace, detector: str) -> tuple[Finding, ...]:
    """What one detector finds there; a skipped one is a mistake in the test."""
    outcome = workspace.outcome(*engine.detectors()[detector])
    assert outcome.state != "skipped", outcome.reason
    return outcome.findings


def one(workspace: Workspace, detector: str) -> Finding:
    """The only finding."""
    (finding,) = findings(workspace, detector)
    return finding


def _arguments(operator: Op) -> Row:
    texts = {
        "input_dims": operator.shapes,
        "input_types": operator.types,
        "input_strides": operator.strides,
        "concrete_inputs": operator.scalars,
    }
    return {name: json.dumps(value) for name, value in texts.items() if value is not None}
