"""One rank's memory is much fuller than the others', and it sets the limit for all."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.scalars import number

DETECTOR = Detector(
    id="uneven-memory",
    title="One rank needs much more memory than the others",
    meaning=(
        "The batch size of all ranks is limited by the fullest device. Where one holds more (a pipeline's first or last stage, "
        "embeddings, results gathered on rank 0, a second process's context), the others' memory lies idle."
    ),
    measured=(
        "Most memory in use on each rank's device: torch's own peak where the run recorded it, else the trace's memory events, "
        "else what the driver saw within the steps; the fullest against the median."
    ),
    fix=(
        Remedy(
            text="Make every process use its own device, from the start",
            code='torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
        ),
        Remedy(text="Gather results on the CPU, or on the rank that has room"),
        Remedy(text="With a pipeline: move layers from the full stage; with embeddings: shard them"),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",
)

#: ranks differ by a few percent with their data
MIN_MEMORY_RATIO = 1.2
#: while the fullest has this much room, nothing is limited by it
MIN_USED_SHARE = 0.5


def detect(rank_states: pl.DataFrame) -> list[Finding]:
    """A note about the fullest rank."""
    known = rank_states.drop_nulls(["memory_ratio", "peak_bytes"])
    if known.height < 2:  # noqa: PLR2004 - two make a comparison
        raise MissingData("how much memory each rank uses was not recorded")
    row = known.sort("peak_bytes", descending=True, maintain_order=True).row(0, named=True)
    total = row["memory_total_bytes"]
    used = row["peak_bytes"] / total if total else None
    if row["memory_ratio"] < MIN_MEMORY_RATIO or (used is not None and used < MIN_USED_SHARE):
        return []
    others = number(known.filter(pl.col("rank") != row["rank"])["peak_bytes"].median())
    of_total = "" if total is None else f" of {total / 1e9:,.1f}"
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"Rank {row['rank']} uses {row['peak_bytes'] / 1e9:,.1f}{of_total} GB where the others use "
                f"{others / 1e9:,.1f}: it sets the largest batch for all."
            ),
            confidence=0.8,
            severity=Severity.MEDIUM,
            rank=int(row["rank"]),
            location=f"rank {row['rank']}",
            evidence=known.select("rank", "host", "device_uuid", "peak_bytes", "memory_total_bytes", "memory_ratio"),
            thresholds={"min_memory_ratio": MIN_MEMORY_RATIO, "min_used_share": MIN_USED_SHARE},
        )
    ]
