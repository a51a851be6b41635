"""A report on its way from one process to another: without its tables, which stay, and its edits, which nobody plays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from analyze.findings.model import Finding, Report


def portable(report: Report) -> Report:
    """Return the report without what cannot leave its process."""
    return replace(
        report,
        findings=_without_edits(report.findings),
        notes=_without_edits(report.notes),
        outcomes=tuple(replace(outcome, findings=_without_edits(outcome.findings)) for outcome in report.outcomes),
        table=no_table,
    )


def no_table(name: str) -> pl.DataFrame:
    """Stand in for Report.table until the receiver puts its own in place."""
    raise LookupError(name)


def _without_edits(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(replace(finding, edit=None) for finding in findings)
