"""What to do after reading a report: look closer at what was found, or record what was missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.findings.model import Finding, Outcome, Summary


def next_steps(summary: Summary, findings: Sequence[Finding], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Commands and what they are for, most useful first."""
    steps = []
    if findings:
        steps.append(f"stepscope explain {findings[0].detector}")
    if summary.step_time is not None and summary.step_time.profiled:
        steps.append("give the step time measured without the profiler: --baseline-step-ms MS (it sharpens every saving)")
    lacking = [o.reason or "" for o in outcomes if o.state == "skipped"]
    if any("shapes" in reason or "stacks" in reason or "memory events" in reason for reason in lacking):
        steps.append("record with shapes, memory and stacks to check the rest: stepscope collect -- your_script.py")
    if not findings:
        table = "kernel_breakdown shows where the device" if summary.device_count else "op_summary shows where the host's"
        steps.append(f"stepscope export PATH --table {table} time goes")
    return tuple(steps)
