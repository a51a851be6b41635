"""The batch is too small to fill the device, and there is memory for a larger one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.scalars import number, number_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.trace_info import TraceInfo

DETECTOR = Detector(
    id="small-batch",
    title="The batch leaves most of the GPU's multiprocessors idle",
    meaning=(
        "The GPU is busy, but its kernels launch fewer blocks than it has multiprocessors, so part of it idles behind a full "
        "utilisation reading. Twice the batch would take little longer, so more samples pass per second; each step gets "
        "longer, and training itself changes."
    ),
    measured=(
        "The share of kernel time in launches with fewer blocks than multiprocessors, and memory in use. The gain is in "
        "samples per second: twice the batch fills twice the blocks, and only the time of kernels that are full grows."
    ),
    fix=(
        Remedy(
            text="Double the batch and compare samples per second; adapt the learning rate",
            code="loader = DataLoader(dataset, batch_size=2 * batch_size)",
        ),
        Remedy(text="Where the batch must stay: run two jobs on the card (MPS, MIG), or use a smaller card"),
    ),
    doc="https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html",
)

#: share of the kernels' time that is underfilled from which on the batch is called small
UNDERFILLED_SHARE = 0.5
#: a device that idles more than this waits for something else first: the host, its input, other ranks
MIN_BUSY_SHARE = 0.5
#: with more memory in use than this, twice the batch may not fit
MAX_MEMORY_SHARE = 0.6
#: samples per second gained from which on it is worth a note
MIN_GAIN_FACTOR = 1.25
#: their time does not grow with the batch
FIXED_KINDS = ("optimizer", "collective")


def detect(
    sm_fill: pl.DataFrame,
    gpu_busy: pl.DataFrame,
    trace_info: TraceInfo,
    memory: pl.DataFrame | None = None,
    device_state: pl.DataFrame | None = None,
    step_time: pl.DataFrame | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """One note for the first device, or none."""
    first = sm_fill["device"].min()
    steps = gpu_busy.filter(pl.col("device") == first, pl.col("span_ns") > 0)
    if steps.is_empty():
        raise MissingData("no step with device work was recorded")
    busy = number(steps["busy_ns"].sum()) / number(steps["span_ns"].sum())
    growing = sm_fill.filter(pl.col("device") == first, ~pl.col("kind").cast(pl.String).is_in(FIXED_KINDS))
    total = number(growing["total_ns"].sum())
    used = _memory_share(trace_info, memory, device_state)
    if busy < MIN_BUSY_SHARE or total == 0 or (used is not None and used > MAX_MEMORY_SHARE):
        return []
    underfilled = number(growing["underfilled_ns"].sum()) / total
    gain = _gain(sm_fill.filter(pl.col("device") == first), total, busy)
    if underfilled < UNDERFILLED_SHARE or gain < MIN_GAIN_FACTOR:
        return []
    batch = (manifest or {}).get("batch_size")
    memory_text = "memory use is not recorded" if used is None else f"{used:.0%} of its memory is in use"
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"Kernels that fill only part of the GPU take {underfilled:.0%} of its kernel time, and {memory_text}: twice the "
                f"batch could pass up to {gain:.1f} times the samples per second{_rate_text(batch, step_time, gain)}."
            ),
            confidence=0.5 if used is not None else 0.4,
            severity=Severity.LOW,
            location=f"batch size {batch}" if batch else None,
            evidence=growing.select(
                "name", "kind", "count", "total_ns", "blocks", "fill_fraction", "occupancy_percent", "underfilled_ns"
            ).head(20),
            thresholds={"underfilled_share": UNDERFILLED_SHARE, "max_memory_share": MAX_MEMORY_SHARE},
            caveat="The step becomes longer, and a larger batch changes training: compare the loss per sample as well.",
        )
    ]


def _gain(fill: pl.DataFrame, growing_ns: float, busy: float) -> float:
    """Samples per second at twice the batch, as a factor, if blocks double and nothing else changes."""
    fixed = pl.col("kind").cast(pl.String).is_in(FIXED_KINDS)
    slower = pl.when(fixed).then(1.0).otherwise(pl.max_horizontal(pl.lit(1.0), 2 * pl.col("fill_fraction")))
    grown = number(fill.select((pl.col("total_ns") * slower).sum()).item())
    all_ns = growing_ns + number(fill.filter(fixed)["total_ns"].sum())
    return 2.0 / (1.0 + busy * (grown / all_ns - 1.0))


def _memory_share(trace_info: TraceInfo, memory: pl.DataFrame | None, device_state: pl.DataFrame | None) -> float | None:
    """Highest share of the device's memory in use: by telemetry, else reserved by the allocator; None where unknown."""
    if device_state is not None:
        share = number_or_none((device_state["memory_used_bytes"] / device_state["memory_total_bytes"]).max())
        if share is not None:
            return share
    whole = next((device.memory_bytes for device in trace_info.devices if device.memory_bytes), None)
    if memory is None or whole is None:
        return None
    on_device = memory.filter(pl.col("device_type") != 0)
    held = number_or_none(on_device["reserved_bytes"].max()) or number_or_none(on_device["allocated_bytes"].max())
    return held / whole if held else None


def _rate_text(batch: object, step_time: pl.DataFrame | None, gain: float) -> str:
    if step_time is None or not isinstance(batch, (int, float)):
        return ""
    unprofiled = step_time.filter(~pl.col("profiled"))
    step_ns = number_or_none((step_time if unprofiled.is_empty() else unprofiled)["step_ns"].mean())
    return "" if not step_ns else f", {batch / step_ns * gain * 1e9:,.0f} instead of {batch / step_ns * 1e9:,.0f}"
