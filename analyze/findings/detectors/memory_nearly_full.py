"""The GPU's memory is nearly used up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.findings.cards import card_name, device_of
from analyze.findings.model import Detector, Finding, Remedy, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

DETECTOR = Detector(
    id="memory-nearly-full",
    title="GPU memory is nearly full",
    meaning=(
        "Little is missing to the end of the device's memory: a longer sequence or a fragmented allocator ends the "
        "run, and near the edge the allocator gives memory back to the driver and asks again, which stops the device "
        "each time."
    ),
    measured=(
        "The highest memory in use within the steps, as the driver counts it, where torch's own peak, if the run "
        "recorded it, is high too: what the allocator merely keeps for later is no shortage."
    ),
    fix=(
        Remedy(
            text="Let the allocator grow its segments, so that fragments are not lost",
            code="export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        ),
        Remedy(text="Free gradients instead of filling them with zeros", code="optimizer.zero_grad(set_to_none=True)"),
        Remedy(
            text="Keep activations in bf16",
            code='with torch.autocast("cuda", dtype=torch.bfloat16):\n    loss = model(batch)',
        ),
        Remedy(
            text="Compute activations again in the backward pass instead of keeping them: slower steps, much less memory",
            code="torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",
)

#: what is left above this is smaller than a batch's variation and the fragments together
MIN_USED_SHARE = 0.95
#: with less than this really allocated, the rest is the allocator's cache, which it can give up
MIN_ALLOCATED_SHARE = 0.85


def detect(device_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """A note per device whose memory is nearly full and really allocated."""
    used = pl.col("memory_used_bytes") / pl.col("memory_total_bytes")
    full = device_state.filter(used >= MIN_USED_SHARE)
    notes = [_note(row, full[position], manifest) for position, row in enumerate(full.to_dicts())]
    return [note for note in notes if note is not None]


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: dict[str, Any] | None) -> Finding | None:
    used, total = row["memory_used_bytes"], row["memory_total_bytes"]
    allocated = _allocated_bytes(row["device_uuid"], manifest)
    if allocated is not None and allocated < MIN_ALLOCATED_SHARE * total:
        return None
    name = card_name(row["device_uuid"], manifest)
    peak = "" if allocated is None else f"; tensors alone reached {allocated / 1e9:,.1f} GB"
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"{name} uses {used / 1e9:,.1f} of {total / 1e9:,.1f} GB ({used / total:.0%}){peak}.",
        # without torch's own figure, the allocator's cache may be what fills it
        confidence=0.5 if allocated is None else 0.9,
        severity=Severity.MEDIUM,
        location=name,
        evidence=evidence.select("host", "device_uuid", "samples", "memory_used_bytes", "memory_total_bytes"),
        thresholds={"min_used_share": MIN_USED_SHARE, "min_allocated_share": MIN_ALLOCATED_SHARE},
    )


def _allocated_bytes(device_uuid: str | None, manifest: dict[str, Any] | None) -> int | None:
    """Torch's peak, which the manifest has for the process's current device."""
    device = device_of(device_uuid, manifest)
    if manifest is None or device is None or device.get("index") != manifest.get("current_device_index"):
        return None
    peak = manifest.get("peak_memory_allocated_bytes")
    return int(peak) if peak else None
