"""Ranks began to record at different times, which looks like a rank that is late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import ms_text
from analyze.scalars import number

if TYPE_CHECKING:
    import polars as pl

DETECTOR = Detector(
    id="profiler-start-skew",
    title="Ranks began to record at different times",
    meaning=(
        "Starting the profiler takes longer on one rank than on another, so the first collective of the recording shows a "
        "wait that training does not have. It is set aside here, and nobody is blamed for it."
    ),
    measured=(
        "The wait in the first collective of each group, where the ranks' first recorded steps began as far apart and later "
        "steps begin closer together."
    ),
    fix=(
        Remedy(
            text="Let the profiler warm up for a step before it records",
            code="schedule = torch.profiler.schedule(wait=5, warmup=2, active=5)",
        ),
        Remedy(text="Start it on all ranks at the same step, after a barrier", code="torch.distributed.barrier()"),
    ),
    doc="https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule",
)


def detect(collective_arrivals: pl.DataFrame) -> list[Finding]:
    """A note with the wait that was set aside."""
    spoilt = collective_arrivals.filter("profiler_start")
    if spoilt.is_empty():
        return []
    longest = number(spoilt["wait_ns"].max())
    last = spoilt.filter("last")["rank"][0]
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"In the first collective of the recording ranks wait up to {ms_text(longest)} ms for rank {last}, as they "
                "began to record at different times; that wait is set aside."
            ),
            confidence=0.8,
            severity=Severity.LOW,
            location=f"rank {last}",
            evidence=spoilt.select("rank", "step", "kind", "start_ns", "dur_ns", "behind_ns", "wait_ns"),
        )
    ]
