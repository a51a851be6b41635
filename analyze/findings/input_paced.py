"""What do fixes give back where the loader's workers set the pace? Nothing, until batches come faster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analyze.findings.loader_workers import faster_intervals
from analyze.findings.model import MODELLED_CONFIDENCE_CAP
from analyze.findings.saving import MIN_STEP_SHARE, share_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from analyze.findings.model import Finding

STALL = "input-pipeline-stall"


def pace_after_fix_ns(findings: Sequence[Finding], pace: pl.DataFrame | None, manifest: Mapping[str, Any]) -> float | None:
    """Time between two batches once the loader is fixed; None where the loader does not set the pace."""
    if pace is None or not pace["sets_pace"].item() or not any(finding.detector == STALL for finding in findings):
        return None
    return faster_intervals(pace["interval_ns"].item(), manifest)[1]


def input_paced(findings: Sequence[Finding], pace: pl.DataFrame | None, manifest: Mapping[str, Any]) -> list[Finding]:
    """The findings in order, the loader's first; the others claim what is left until it sets the pace again.

    A step that gets shorter only waits longer for workers that are busy all the time. With the loader fixed it takes
    interval - saving; the other fixes can bring it down to the loader's new interval and no further. A saving that all
    ranks were played for together is left as it is: it is about which rank the others wait for.
    """
    new_pace_ns = pace_after_fix_ns(findings, pace, manifest)
    if new_pace_ns is None or pace is None:
        return list(findings)
    interval_ns = pace["interval_ns"].item()
    stall = next(finding for finding in findings if finding.detector == STALL)
    room_ns = max(interval_ns - (stall.step_saving_ns or 0.0) - new_pace_ns, 0.0)
    kept = [stall]
    for finding in findings:
        if finding.edit is None and finding.basis == "replayed" and finding is not stall:
            kept.append(finding)
        elif finding is not stall and min(finding.step_saving_ns or 0.0, room_ns) >= MIN_STEP_SHARE * interval_ns:
            kept.append(_later(finding, min(finding.step_saving_ns or 0.0, room_ns), interval_ns))
    return kept


def _later(finding: Finding, saving_ns: float, step_ns: float) -> Finding:
    claimed = share_text(finding.step_saving_ns or 0.0, step_ns)
    said = f"{share_text(saving_ns, step_ns)}, once batches come faster"
    message = finding.message.replace(claimed, said)
    if message == finding.message:
        message = f"{finding.message.rstrip('.')}; with batches that come faster it would save {share_text(saving_ns, step_ns)}."
    return replace(
        finding,
        step_saving_ns=saving_ns,
        step_saving_low_ns=0.0,
        confidence=min(finding.confidence, MODELLED_CONFIDENCE_CAP),
        message=message,
    )
