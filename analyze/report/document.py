"""The report as one JSON document: every field present, unknown is null, times in milliseconds, never NaN."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from analyze.findings.model import confidence_word
from analyze.report.amounts import NS_PER_MS, severity_of, share_of_step

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from analyze.findings.model import Finding, Report, StepTime, Summary

SCHEMA_VERSION = 1
#: rows of evidence in a document; `evidence_count` tells how many there are
EVIDENCE_ROWS = 20


def render(report: Report) -> str:
    """Return the document as text: ASCII, indented, so that no name can drive a terminal."""
    return json.dumps(document(report), indent=2, allow_nan=False)


def document(report: Report) -> dict[str, Any]:
    """Return the document as plain JSON values."""
    step_time = report.summary.step_time
    pieces = {
        "schema_version": SCHEMA_VERSION,
        "source": report.source,
        "summary": _summary(report.summary),
        "verdict": report.verdict,
        "findings": [_finding(finding, report, step_time) for finding in report.findings],
        "notes": [_finding(finding, report, step_time) for finding in report.notes],
        "clear": list(report.clear),
        "skipped": [{"id": detector, "reason": reason} for detector, reason in report.skipped],
        "data_quality": report.data_quality.to_dicts(),
        "ranks": [{"rank": one.rank, "name": one.name, "summary": _summary(one.summary)} for one in report.ranks],
        "set_aside": [{"file": file, "reason": reason} for file, reason in report.set_aside],
        "next_steps": list(report.next_steps),
    }
    return {key: json_value(piece) for key, piece in pieces.items()}


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "label": summary.label,
        "device": summary.device,
        "device_count": summary.device_count,
        "versions": dict(summary.versions),
        "batch_size": summary.batch_size,
        "rank": summary.rank,
        "world_size": summary.world_size,
        "step_time_ms": _step_time(summary.step_time),
        "step_parts_ms": _parts(summary.step_parts_ns),
        "host_parts_ms": _parts(summary.host_parts_ns),
        "device_busy_fraction": summary.device_busy_fraction,
        "busy_without_collectives_fraction": summary.busy_without_collectives_fraction,
        "samples_per_s": summary.samples_per_s,
        "replay_error_fraction": summary.replay_error_fraction,
        "after_all_fixes_ms": _ms(summary.after_all_fixes_ns),
        "floor_ms": _ms(summary.floor_ns),
    }


def _step_time(step_time: StepTime | None) -> dict[str, Any] | None:
    if step_time is None:
        return None
    return {
        "median": _ms(step_time.median_ns),
        "mean": _ms(step_time.mean_ns),
        "p10": _ms(step_time.p10_ns),
        "p90": _ms(step_time.p90_ns),
        "count": step_time.count,
        "profiled": step_time.profiled,
        "source": step_time.source,
        "profiled_mean": _ms(step_time.profiled_mean_ns),
        "inferred": step_time.inferred,
    }


def _finding(finding: Finding, report: Report, step_time: StepTime | None) -> dict[str, Any]:
    detector = report.detectors[finding.detector]
    return {
        "id": finding.detector,
        "title": detector.title,
        "severity": severity_of(finding, step_time).value,
        "confidence": finding.confidence,
        "confidence_word": confidence_word(finding.confidence),
        "basis": finding.basis,
        "rank": finding.rank,
        "step_saving_ms": _ms(finding.step_saving_ns),
        "step_saving_low_ms": _ms(finding.step_saving_low_ns),
        "step_saving_high_ms": _ms(finding.step_saving_high_ns),
        "step_saving_fraction": share_of_step(finding, step_time),
        "message": finding.message,
        "location": finding.location,
        "evidence": _rows(finding.evidence),
        "evidence_count": finding.evidence.height,
        "thresholds": dict(finding.thresholds),
        "caveat": finding.caveat,
        "fix": [{"text": remedy.text, "code": remedy.code or None} for remedy in report.fix_of(finding)],
    }


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.head(EVIDENCE_ROWS).to_dicts()


def _parts(parts_ns: Mapping[str, float]) -> dict[str, float | None] | None:
    return {name: _ms(ns) for name, ns in parts_ns.items()} or None


def _ms(ns: float | None) -> float | None:
    return None if ns is None else ns / NS_PER_MS


def json_value(value: Any) -> Any:  # noqa: ANN401 - anything a cell may hold
    """Return the value as JSON can carry it: what is not a number is null, what JSON does not know is text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
