"""Most of the GPU's memory is unused while the device has time to spare."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyze.findings.cards import card_name
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.scalars import number

DETECTOR = Detector(
    id="memory-mostly-unused",
    title="Most of the GPU's memory is unused",
    meaning=(
        "The device has memory for a much larger batch, and it is not busy all the time: fixed costs of a step "
        "(launches, the optimizer, communication) could be shared by more samples. Training itself changes with the "
        "batch size."
    ),
    measured=(
        "The highest memory in use within the steps, the allocator's cache included, on devices that work, but not "
        "all of the step according to the trace. Without a trace of the device nothing is said."
    ),
    fix=(
        Remedy(
            text="Try a larger batch and compare samples per second, not step times; adapt the learning rate",
            code="loader = DataLoader(dataset, ..., batch_size=2 * batch_size)",
        ),
        Remedy(text="Put several small runs on one card, or take a smaller one"),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
)

#: twice the batch needs at most twice the memory: below this it fits with room to spare
MAX_USED_SHARE = 0.40
#: a device that is busier than this gains little from a larger batch, whatever its memory
MAX_BUSY_SHARE = 0.90
#: a card below this did nothing, which is a note of its own
MIN_UTILISATION_PERCENT = 1.0


def detect(
    device_state: pl.DataFrame,
    gpu_busy: pl.DataFrame,
    manifest: dict[str, Any] | None = None,
) -> list[Finding]:
    """One note for all devices that work, have time to spare and use little memory."""
    span_ns = number(gpu_busy["span_ns"].sum())
    busy = number(gpu_busy["busy_ns"].sum()) / span_ns if span_ns else 1.0
    used = pl.col("memory_used_bytes") / pl.col("memory_total_bytes")
    working = device_state.filter(pl.col("utilisation_percent") >= MIN_UTILISATION_PERCENT)
    spare = working.filter(used <= MAX_USED_SHARE)
    # one full device sets the batch size of all
    if busy > MAX_BUSY_SHARE or spare.is_empty() or spare.height < working.height:
        return []
    fullest = spare.sort(used).row(-1, named=True)
    used_bytes, total_bytes = fullest["memory_used_bytes"], fullest["memory_total_bytes"]
    name = card_name(fullest["device_uuid"], manifest)
    which = name if spare.height == 1 else f"{name}, the fullest of {spare.height},"
    batch = (manifest or {}).get("batch_size")
    at = f" at batch size {batch}" if batch else ""
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"{which} uses {used_bytes / 1e9:,.1f} of {total_bytes / 1e9:,.1f} GB{at} and is busy for "
                f"{busy:.0%} of the step: a larger batch would fit."
            ),
            confidence=0.6,
            severity=Severity.LOW,
            location=name,
            evidence=spare.select(
                "host", "device_uuid", "samples", "utilisation_percent", "memory_used_bytes", "memory_total_bytes"
            ),
            thresholds={"max_used_share": MAX_USED_SHARE, "max_busy_share": MAX_BUSY_SHARE},
            caveat="A larger batch changes training; compare samples per second and the loss.",
        )
    ]
