"""A finding's evidence for reading: the first rows, times in ms from the window's start, sizes in megabytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyze.report.amounts import NS_PER_MS, quantity
from analyze.report.plain_text import excerpt, shown

if TYPE_CHECKING:
    from analyze.findings.model import Finding, Summary

CELL_WIDTH = 40
UNKNOWN = "\N{EN DASH}"
BYTES_PER_MB = 1e6
#: points in time, which say something only when counted from the window's start
MOMENTS = ("start_ns", "end_ns", "time_ns")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Titles and cells as text; `count` rows there are in all."""

    titles: list[str]
    rows: list[list[str]]
    count: int


def evidence_of(finding: Finding, summary: Summary, most_rows: int) -> Evidence | None:
    """Return the first rows as text; None where there is nothing to show."""
    frame = finding.evidence
    if not frame.height or not frame.width:
        return None
    origin_ns = summary.window_ns[0] if summary.window_ns else 0
    rows = frame.head(most_rows).to_dicts()
    return Evidence(
        titles=[_title(name, known_origin=summary.window_ns is not None) for name in frame.columns],
        rows=[[_cell(name, value, origin_ns) for name, value in row.items()] for row in rows],
        count=frame.height,
    )


def _title(name: str, *, known_origin: bool) -> str:
    if name in MOMENTS and known_origin:
        return f"{name.removesuffix('_ns')}_at_ms"
    if name.endswith("_ns"):
        return f"{shown(name.removesuffix('_ns'))}_ms"
    return "MB" if name == "bytes" else shown(name)


def _cell(name: str, value: Any, origin_ns: int) -> str:  # noqa: ANN401 - anything a cell may hold
    """A cell as text: floats short, unknown as a dash."""
    if value is None:
        return UNKNOWN
    if isinstance(value, (int, float)) and name.endswith("_ns"):
        return f"{(value - (origin_ns if name in MOMENTS else 0)) / NS_PER_MS:,.3f}"
    if name == "bytes" and isinstance(value, (int, float)):
        return quantity(value / BYTES_PER_MB)
    return quantity(value) if isinstance(value, float) else excerpt(value, CELL_WIDTH)
