"""The GPU lowers its clock because it is hot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.findings.cards import card_name
from analyze.findings.model import Detector, Finding, Remedy, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

DETECTOR = Detector(
    id="thermal-throttle",
    title="The GPU slows down because it is hot",
    meaning=(
        "The driver lowers the clock to keep the chip within its temperature limit, so every kernel that computes "
        "takes longer. It often begins minutes into a run, when a card or its neighbours have warmed up."
    ),
    measured=(
        "Samples within the steps in which the driver itself gives heat as the reason for a lower clock; the "
        "temperature alone is no reason, since limits differ from card to card. No time is claimed: memory-bound "
        "kernels lose little."
    ),
    fix=(
        Remedy(
            text="See the reason and the limits as the driver knows them",
            code="nvidia-smi -q -d PERFORMANCE,TEMPERATURE,CLOCK",
        ),
        Remedy(text="Give the card air: fan speed, dust, blanking plates, a free slot beside it, colder inlet air"),
        Remedy(
            text="Lower the power limit a little, for a steady clock instead of one that jumps", code="sudo nvidia-smi -pl 300"
        ),
    ),
    doc="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
)

#: below this share of the samples the clock dips now and then, and the mean step does not show it
MIN_SAMPLE_SHARE = 0.05
#: a clock lost by more than this weighs as much as a large finding
LARGE_CLOCK_SHARE = 0.10


def detect(device_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """A note per device that heat slows down within the steps."""
    hot = device_state.filter(pl.col("thermal_share") >= MIN_SAMPLE_SHARE)
    return [_note(row, hot[position], manifest) for position, row in enumerate(hot.to_dicts())]


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: dict[str, Any] | None) -> Finding:
    clock, highest = row["sm_clock_mhz"], row["highest_sm_clock_mhz"]
    lost = 1 - clock / highest if clock and highest else None
    at = "" if row["temperature_c"] is None else f", at up to {row['temperature_c']:.0f} °C"
    name = card_name(row["device_uuid"], manifest)
    slower = "" if lost is None else f": its clock is {clock:,.0f} MHz where it reached {highest:,.0f}"
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"Heat slows {name} down in {row['thermal_share']:.0%} of the samples{at}{slower}.",
        confidence=0.9,
        severity=Severity.HIGH if lost is not None and lost >= LARGE_CLOCK_SHARE else Severity.MEDIUM,
        location=name,
        evidence=evidence,
        thresholds={"min_sample_share": MIN_SAMPLE_SHARE},
    )
