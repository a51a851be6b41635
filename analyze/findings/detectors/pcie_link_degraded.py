"""Pinned copies run far below what the link between host and device can do."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import digits

DETECTOR = Detector(
    id="pcie-link-degraded",
    title="The link between host and GPU runs below its rate",
    meaning=(
        "Even large copies from pinned memory do not come near the rate of the link: the card sits in a slot with "
        "fewer lanes or an older generation, the link has fallen back after errors, several cards share it, or the "
        "memory is on the other socket."
    ),
    measured=(
        "The fastest large pinned copy of the trace against the link's nominal rate. Half of it cannot be reached "
        "even with one generation or half the lanes missing, so less than that is the link, not the copy. No time is "
        "claimed: pinned copies can overlap."
    ),
    fix=(
        Remedy(
            text="Compare the link's generation and width, under load, with what the card can do",
            code="nvidia-smi -q | grep -A 12 'GPU Link Info'",
        ),
        Remedy(
            text="Run the process on the socket that the card hangs on",
            code="numactl --cpunodebind=0 --membind=0 python train.py",
        ),
        Remedy(
            text="Look for corrected errors, reseat the card, try another slot", code="sudo lspci -vv | grep -E 'LnkSta|LnkCap'"
        ),
    ),
    doc="https://developer.nvidia.com/blog/how-optimize-data-transfers-cuda-cc/",
)

#: from this size on the setup of a copy is a few percent of it even on the fastest link
LARGE_COPY_BYTES = 4 << 20
#: one slow copy may have shared the link with another; so many have not
MIN_COPIES = 3
#: healthy links reach three quarters of their rate and more; with one generation or half the lanes lost, less than half
MAX_RATE_SHARE = 0.5


def detect(copies: pl.DataFrame, host_link: pl.DataFrame) -> list[Finding]:
    """One note where the fastest of several large pinned copies stays below half of the link's rate."""
    link = host_link["bytes_per_s"][0]
    if link is None:
        raise MissingData("the rate of this device's host link is not known")
    pinned = copies.filter(
        pl.col("host_memory") == "pinned",
        pl.col("direction").cast(pl.String).is_in(["host-to-device", "device-to-host"]),
        pl.col("bytes") >= LARGE_COPY_BYTES,
        pl.col("dur_ns") > 0,
    ).with_columns(bytes_per_s=pl.col("bytes") / pl.col("dur_ns") * 1e9)
    if pinned.height < MIN_COPIES:
        raise MissingData("too few large copies from pinned memory to see the link's rate")
    fastest = pinned.sort("bytes_per_s", descending=True, maintain_order=True).row(0, named=True)
    if fastest["bytes_per_s"] >= MAX_RATE_SHARE * link:
        return []
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"The fastest of {pinned.height} large copies from pinned memory reaches "
                f"{digits(fastest['bytes_per_s'] / 1e9)} GB/s; the link of {host_link['device'][0]} can do "
                f"{digits(link / 1e9)} GB/s."
            ),
            confidence=0.6,
            severity=Severity.MEDIUM,
            location=f"device {fastest['device']}",
            evidence=pinned.sort("bytes_per_s", descending=True, maintain_order=True)
            .select("step", "device", "stream", "direction", "start_ns", "dur_ns", "bytes", "bytes_per_s")
            .head(50),
            thresholds={"large_copy_bytes": LARGE_COPY_BYTES, "max_rate_share": MAX_RATE_SHARE},
        )
    ]
