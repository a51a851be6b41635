"""The GPU runs below the clock it can reach, and neither heat nor power is the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.findings.cards import card_name
from analyze.findings.model import Detector, Finding, Remedy, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

DETECTOR = Detector(
    id="low-clock",
    title="The GPU runs below the clock it can reach",
    meaning=(
        "Somebody set a clock, or the card does not leave its idle clock because the work comes in drops. A set clock "
        "slows every kernel that computes; it is easily left behind by a benchmark that wanted steady numbers."
    ),
    measured=(
        "The median clock within the steps against the highest of the whole run, on a device that is busy and that "
        "neither heat nor power holds down. Clocks that were set before the run began show only where the driver "
        "names the setting."
    ),
    fix=(
        Remedy(text="See which clocks are set", code="nvidia-smi -q -d CLOCK,PERFORMANCE"),
        Remedy(
            text="Undo clocks that were set",
            code="sudo nvidia-smi --reset-gpu-clocks\nsudo nvidia-smi --reset-applications-clocks",
        ),
    ),
    doc="https://docs.nvidia.com/deploy/nvidia-smi/index.html",
)

#: clocks move by some percent with load; lower by this much is a setting or a fault
MIN_CLOCK_SHARE = 0.15
#: a device that is used less than this may rest between steps, and is right to
MIN_UTILISATION_PERCENT = 80.0
#: heat and power have notes of their own from here on
MAX_EXPLAINED_SAMPLE_SHARE = 0.05
#: the driver names the setting in at least this share of the samples
MIN_SET_SAMPLE_SHARE = 0.5


def detect(device_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """A note per busy device whose clock is low without heat or power as the reason."""
    lost = 1 - pl.col("sm_clock_mhz") / pl.col("highest_sm_clock_mhz")
    explained = pl.max_horizontal("thermal_share", "power_cap_share", "power_brake_share").fill_null(0.0)
    found = device_state.filter(
        pl.col("utilisation_percent") >= MIN_UTILISATION_PERCENT,
        explained < MAX_EXPLAINED_SAMPLE_SHARE,
        (lost >= MIN_CLOCK_SHARE) | (pl.col("set_clock_share") >= MIN_SET_SAMPLE_SHARE),
    )
    return [_note(row, found[position], manifest) for position, row in enumerate(found.to_dicts())]


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: dict[str, Any] | None) -> Finding:
    name = card_name(row["device_uuid"], manifest)
    is_set = (row["set_clock_share"] or 0.0) >= MIN_SET_SAMPLE_SHARE
    lost = 1 - (row["sm_clock_mhz"] or 0.0) / (row["highest_sm_clock_mhz"] or float("inf"))
    clock = "its clock" if row["sm_clock_mhz"] is None else f"{row['sm_clock_mhz']:,.0f} MHz"
    reached = f" where it reached {row['highest_sm_clock_mhz']:,.0f}" if lost >= MIN_CLOCK_SHARE and row["sm_clock_mhz"] else ""
    why = "; the driver says that the clock was set" if is_set else "; the driver names neither heat nor power"
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"{name} runs at {clock}{reached} while it is {row['utilisation_percent']:.0f} % busy{why}.",
        confidence=0.8 if is_set else 0.5,
        severity=Severity.MEDIUM if reached else Severity.LOW,
        location=name,
        evidence=evidence,
        thresholds={"min_clock_share": MIN_CLOCK_SHARE, "min_utilisation_percent": MIN_UTILISATION_PERCENT},
    )
