"""Every public trace is diagnosed without a fault, and what is said of it keeps its bounds.

Traces of many writers, versions and devices: nothing is known of what is wrong in them, only what may never happen.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyze import diagnose
from analyze.engine import FAULT
from analyze.errors import InputError

if TYPE_CHECKING:
    from analyze.findings.model import Report

FOLDER = Path(__file__).parents[2] / "shared" / "traces" / "public"
TRACES = sorted(path for path in FOLDER.rglob("*") if path.is_file() and path.name.endswith((".json", ".json.gz")))
SLOW_BYTES = 5 << 20

pytestmark = pytest.mark.skipif(not TRACES, reason="the public traces are not beside the project")


@cache
def report(path: Path) -> Report | None:
    """The diagnosis; None where the file is no trace."""
    try:
        return diagnose(str(path), cache=False)
    except InputError:
        return None


def _parameters() -> list[object]:
    return [
        pytest.param(
            path, id=str(path.relative_to(FOLDER))[-70:], marks=[pytest.mark.slow] if path.stat().st_size > SLOW_BYTES else []
        )
        for path in TRACES
    ]


@pytest.mark.parametrize("path", _parameters())
def test_a_report_keeps_its_bounds(path: Path) -> None:
    found = report(path)
    if found is None:
        pytest.skip("not a trace")
    assert [reason for _, reason in found.skipped if reason.startswith(FAULT)] == []
    step_time = found.summary.step_time
    for finding in found.findings:
        assert step_time is not None, "a saving of every step needs a step"
        saving, low, high = finding.step_saving_ns, finding.step_saving_low_ns, finding.step_saving_high_ns
        assert 0 <= low <= saving <= high <= step_time.mean_ns * (1 + 1e-9), finding.detector
        assert 0 < finding.confidence <= 1
        assert finding.basis in {"replayed", "modelled"}
        assert finding.message
    for note in found.notes:
        assert note.step_saving_ns is None, note.detector
    parts = found.summary.step_parts_ns or found.summary.host_parts_ns
    if parts and step_time is not None:
        assert sum(parts.values()) == pytest.approx(step_time.mean_ns, rel=1e-3)
        assert min(parts.values()) >= 0
    if found.summary.after_all_fixes_ns is not None and step_time is not None:
        assert 0 <= found.summary.after_all_fixes_ns <= step_time.mean_ns * (1 + 1e-9)
    assert found.verdict


def test_most_of_them_are_traces() -> None:
    """Skipping is for what is none."""
    small = [path for path in TRACES if path.stat().st_size <= SLOW_BYTES]
    assert sum(report(path) is not None for path in small) >= 0.9 * len(small)
