"""What does the card of one finding say? The words and numbers, without their layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.findings.model import confidence_word
from analyze.report.amounts import Scale, percent, severity_of, share_of_step

if TYPE_CHECKING:
    from analyze.findings.model import Finding, Remedy, Report

BASIS = {
    "replayed": "replayed: the recorded window was played again with the fix",
    "modelled": "modelled: bounded by arithmetic, not played again",
}


@dataclass(frozen=True, kw_only=True)
class Card:
    """A finding in words."""

    title: str
    #: high, medium, low; '' for a note
    severity: str
    #: 'Gives back 48.2 ms (low and high bound) of each step = 70%'; '' for a note
    gives_back: str
    message: str
    #: confidence with its word, basis, rank
    how_sure: tuple[str, ...]
    location: str
    caveat: str
    fix: tuple[Remedy, ...]
    measured: str
    #: 'SMALLEST_SAVING_NS = 50,000'
    thresholds: tuple[str, ...]


def card(finding: Finding, report: Report) -> Card:
    """Return what to say about a finding."""
    detector = report.detectors[finding.detector]
    how_sure = [f"confidence {confidence_word(finding.confidence)} ({finding.confidence:.2f})"]
    how_sure += [BASIS[finding.basis]] if finding.basis else []
    how_sure += [] if finding.rank is None else [f"rank {finding.rank}"]
    return Card(
        title=detector.title,
        severity="" if finding.kind == "note" else severity_of(finding, report.summary.step_time).value,
        gives_back=_gives_back(finding, report),
        message=finding.message,
        how_sure=tuple(how_sure),
        location=finding.location or "",
        caveat=finding.caveat or "",
        fix=report.fix_of(finding),
        measured=detector.measured,
        thresholds=tuple(f"{name} = {value:,g}" for name, value in finding.thresholds.items()),
    )


def _gives_back(finding: Finding, report: Report) -> str:
    if finding.step_saving_ns is None:
        return ""
    scale = Scale.of(report.summary)
    share = share_of_step(finding, report.summary.step_time)
    bounds = scale.span(finding.step_saving_low_ns, finding.step_saving_high_ns)
    of_step = "" if share is None else f" = {percent(share)}"
    return f"Gives back {scale.ms(finding.step_saving_ns)} ms ({bounds}) of each step{of_step}"
