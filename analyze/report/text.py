"""The report for a terminal: ten lines that hold the answer, then everything behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.report.details import details
from analyze.report.headline import headline

if TYPE_CHECKING:
    from analyze.findings.model import Report
    from analyze.report.headline import Line

WIDTH = 80


def lines(report: Report, width: int = WIDTH) -> list[Line]:
    """Return the report as lines of (text, style) spans; names in it are text already, never markup."""
    return [*headline(report, width), *details(report, width)]


def render(report: Report, width: int = WIDTH) -> str:
    """Return the report as plain text, ending in a newline."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines(report, width))
