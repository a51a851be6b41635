"""The GPU lowers its clock to stay within its power limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.findings.cards import card_name, device_of
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.hardware import find

if TYPE_CHECKING:
    from collections.abc import Mapping

DETECTOR = Detector(
    id="power-cap",
    title="The power limit holds the GPU's clock down",
    meaning=(
        "The card draws what it may and runs slower than it could. Under dense matrix work this is what the card is "
        "built for; it is worth knowing when two machines differ, or when somebody lowered the limit."
    ),
    measured=(
        "Samples within the steps in which the driver gives the power limit, or the server's power supply, as the "
        "reason for a lower clock, where the clock is also visibly below the highest of this run. No time is claimed."
    ),
    fix=(
        Remedy(text="See the limit that is set and the card's own", code="nvidia-smi -q -d POWER"),
        Remedy(text="Spend less energy per step: bf16 or TF32 instead of float32 does the same arithmetic at less power"),
        Remedy(text="Raise a limit that was lowered, where cooling and supply allow it", code="sudo nvidia-smi -pl 700"),
    ),
    doc="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
)

#: capped now and then is ordinary under load; capped in most samples is a state of the machine
MIN_SAMPLE_SHARE = 0.5
#: the server's power brake is never ordinary
MIN_BRAKE_SAMPLE_SHARE = 0.05
#: a card held down at less than this of its rated power has had its limit lowered
LOWERED_SHARE = 0.85
#: a clock this little below the highest costs less than steps differ by
MIN_CLOCK_SHARE = 0.05


def detect(device_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """A note per device whose clock the power limit or the power brake holds down."""
    lost = 1 - pl.col("sm_clock_mhz") / pl.col("highest_sm_clock_mhz")
    capped = (pl.col("power_cap_share") >= MIN_SAMPLE_SHARE) & (lost >= MIN_CLOCK_SHARE)
    braked = pl.col("power_brake_share") >= MIN_BRAKE_SAMPLE_SHARE
    found = device_state.filter(capped | braked)
    return [_note(row, found[position], manifest) for position, row in enumerate(found.to_dicts())]


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: dict[str, Any] | None) -> Finding:
    name = card_name(row["device_uuid"], manifest)
    braked = row["power_brake_share"] >= MIN_BRAKE_SAMPLE_SHARE
    share = row["power_brake_share"] if braked else row["power_cap_share"]
    what = "The server's power supply" if braked else "The power limit"
    rated = find((device_of(row["device_uuid"], manifest) or {}).get("name"))
    rated_w = rated.power_limit_w if rated else None
    lowered = rated_w is not None and (row["highest_power_w"] or rated_w) < LOWERED_SHARE * rated_w
    drawing = "" if row["highest_power_w"] is None else f" at {row['highest_power_w']:,.0f} W"
    drawing += f" of the {rated_w:,.0f} W that it is made for" if drawing and lowered else ""
    clocks = ""
    if row["sm_clock_mhz"] and row["highest_sm_clock_mhz"]:
        clocks = f": its clock is {row['sm_clock_mhz']:,.0f} MHz where it reached {row['highest_sm_clock_mhz']:,.0f}"
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"{what} holds {name} down in {share:.0%} of the samples{drawing}{clocks}.",
        confidence=0.9,
        severity=Severity.HIGH if braked else Severity.MEDIUM if lowered else Severity.LOW,
        location=name,
        evidence=evidence,
        thresholds={"min_sample_share": MIN_SAMPLE_SHARE, "min_clock_share": MIN_CLOCK_SHARE, "lowered_share": LOWERED_SHARE},
    )
