"""What a detector that compares ranks finds in a run made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze import engine
from analyze.engine import Workspace
from analyze.trace_info import TraceInfo
from tests.builders import step_times, timed

if TYPE_CHECKING:
    from analyze.engine import Together
    from analyze.findings.model import Finding, Outcome


def outcome(together: Together | None, detector: str, **sources: object) -> Outcome:
    """Outcome of one detector on a rank of these."""
    given = {"trace_info": TraceInfo(producer="kineto-cuda", world_size=4), "step_time": step_times(timed(0, 0, 1_000_000))}
    return Workspace(given | sources, together).outcome(*engine.detectors()[detector])


def findings(together: Together | None, detector: str, **sources: object) -> tuple[Finding, ...]:
    """Its findings; a skipped one is a mistake in the test."""
    result = outcome(together, detector, **sources)
    assert result.state != "skipped", result.reason
    return result.findings
