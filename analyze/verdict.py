"""One sentence: what limits the step, and what the step would take after the fixes; a grave note is named beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.findings.model import Severity
from analyze.findings.saving import ms_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analyze.findings.model import Detector, Finding, Summary

#: a device busier than this is the limit, and no fix on the host moves it far
BUSY_ENOUGH = 0.9


def verdict(
    summary: Summary, findings: Sequence[Finding], detectors: Mapping[str, Detector], notes: Sequence[Finding] = ()
) -> str:
    """The verdict; 'nothing worth fixing' is one like any other, and unknown is said."""
    grave = [detectors[note.detector].title for note in notes if note.severity is Severity.HIGH]
    also = f" Also: {'; '.join(dict.fromkeys(grave))}." if grave else ""
    return _of_findings(summary, findings, detectors) + also


def _of_findings(summary: Summary, findings: Sequence[Finding], detectors: Mapping[str, Detector]) -> str:
    if summary.step_time is None:
        return "No steps were found in this trace, so no step time to explain. Tables of the whole trace can be exported."
    step_ns = summary.step_time.mean_ns
    if not findings:
        return _nothing(summary, step_ns)
    top = findings[0]
    title = detectors[top.detector].title
    saving_ns = top.step_saving_ns or 0.0
    sentence = f"{title}: a fix gives back about {ms_text(saving_ns)} of {ms_text(step_ns)} ms a step ({saving_ns / step_ns:.0%})"
    after = summary.after_all_fixes_ns
    if after is not None and len(findings) > 1 and after < summary.step_time.mean_ns - (top.step_saving_ns or 0) * 1.02:
        sentence += f"; all fixes {ms_text(after)} ms"
    return sentence + "."


def _nothing(summary: Summary, step_ns: float) -> str:
    busy = summary.device_busy_fraction
    if busy is None:
        return f"Nothing worth fixing was found in the {ms_text(step_ns)} ms step."
    if busy >= BUSY_ENOUGH:
        return (
            f"Nothing worth fixing: the device is busy {busy:.0%} of the {ms_text(step_ns)} ms step, "
            "so only faster kernels or less work would help."
        )
    return f"No single cause worth fixing was found, though the device is busy only {busy:.0%} of the {ms_text(step_ns)} ms step."
