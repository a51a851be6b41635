"""From a study's folder to its measured cells: each is diagnosed like any run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.diagnosis import diagnose
from analyze.errors import InputError, StepscopeError
from analyze.ingest.study_file import manifest_of, step_log_of, telemetry_of
from analyze.study.model import CellState, Measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from analyze.findings.model import Report


def read_cell(directory: Path, fields: Mapping[str, Any], *, cache: bool) -> tuple[CellState, Measured | None]:
    """Return a cell's state and, where it is finished and can be read, what was measured."""
    named = {
        "name": fields["name"],
        "mode": str(fields.get("mode")),
        "device": str(fields.get("device")),
        "batch_size": int(fields.get("batch_size") or 0),
    }
    state, message = str(fields.get("state", "unknown")), fields.get("message")
    if state != "done":
        return CellState(**named, state=state, reason=None if message is None else str(message)), None
    run = directory / named["name"]
    try:
        manifest, step_log, (header, telemetry) = manifest_of(run), step_log_of(run), telemetry_of(run)
    except InputError as error:
        return CellState(**named, state=state, reason=str(error)), None
    report, reason = _report(run, cache=cache)
    cell = Measured(
        **named,
        manifest=manifest,
        step_log=step_log,
        telemetry=telemetry,
        unsupported=header.get("unsupported") or {},
        power_limits_w=_power_limits(header),
        **({} if report is None else _diagnosed(report, manifest)),
    )
    return CellState(**named, state=state, reason=reason), cell


def _report(run: Path, *, cache: bool) -> tuple[Report | None, str | None]:
    """The diagnosis, or why there is none: a cell without a trace still has times and telemetry."""
    if not any(run.glob("*.pt.trace.json.gz")):
        return None, "recorded without the profiler: its operators and what it waits for are not known"
    try:
        return diagnose(str(run), cache=cache), None
    except StepscopeError as error:
        return None, f"its trace cannot be read: {error}"


def _diagnosed(report: Report, manifest: Mapping[str, Any]) -> dict[str, Any]:
    steps = _profiled_steps(manifest)
    return {
        "profiled_steps": steps,
        "parts_ns": dict(report.summary.step_parts_ns or report.summary.host_parts_ns),
        "operators": _operators(report, steps),
        "copy_to_device_ns": _copies(report, steps),
        "verdict": report.verdict,
    }


def _power_limits(header: Mapping[str, Any]) -> dict[str, float]:
    cards = [card for card in header.get("devices") or [] if isinstance(card, dict)]
    return {str(card.get("uuid")): float(card["power_limit_w"]) for card in cards if card.get("power_limit_w")}


def _profiled_steps(manifest: Mapping[str, Any]) -> int:
    windows = [window for window in manifest.get("windows") or [] if window.get("name") == "times"]
    return max(sum(int(window["last_step"]) - int(window["first_step"]) + 1 for window in windows), 1)


def _operators(report: Report, steps: int) -> pl.DataFrame | None:
    """Operators by name, whatever their shapes."""
    try:
        summary = report.table("op_summary")
    except StepscopeError:
        return None

    def per_step(name: str) -> pl.Expr:
        return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum() / steps)

    return (
        summary.with_columns(operator=pl.col("name").cast(pl.String))
        .group_by("operator", maintain_order=True)
        .agg(host_self_ns=per_step("host_self_ns"), device_self_ns=per_step("device_self_ns"))
    )


def _copies(report: Report, steps: int) -> float | None:
    try:
        copies = report.table("copies_by_kind")
    except StepscopeError:
        return None
    to_device = copies.filter(pl.col("direction").cast(pl.String) == "host-to-device")
    return float(to_device["dur_ns"].sum()) / steps
