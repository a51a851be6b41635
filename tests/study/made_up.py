"""Cells and studies made up for a test: what was recorded is said in a few numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.schema import TABLES
from analyze.study.model import Measured

if TYPE_CHECKING:
    from pathlib import Path

SECOND = 1_000_000_000
MS = 1_000_000
GIB = 1024**3
START_NS = 1_764_625_385 * SECOND


def steps(
    step_ms: float | list[float], batch: int = 64, *, count: int = 20, wait_ms: float = 0.0, losses: list[float] | None = None
) -> pl.DataFrame:
    """Two warm-up steps of 500 ms, then measured steps one after the other."""
    durations = step_ms if isinstance(step_ms, list) else [step_ms] * count
    all_ms = [500.0, 500.0, *durations]
    starts = [START_NS + round(sum(all_ms[:index]) * MS) for index in range(len(all_ms))]
    rows = {
        "rank": [0] * len(all_ms),
        "step": list(range(len(all_ms))),
        "start_ns": starts,
        "dur_ns": [round(ms * MS) for ms in all_ms],
        "input_wait_ns": [round(wait_ms * MS)] * len(all_ms),
        "samples": [batch] * len(all_ms),
        "loss": losses or [1.0] * len(all_ms),
        "phase": ["settling"] * 2 + ["baseline"] * len(durations),
    }
    return pl.DataFrame(rows, schema={column.name: column.dtype for column in TABLES["step_log"]})


def samples(*series: tuple[str, str | None, str, list[float]], every_s: float = 0.5, offset_s: float = -0.5) -> pl.DataFrame:
    """Telemetry: (source, device, metric, values), the first value half a second before the first step."""
    rows = [
        (START_NS + round((offset_s + index * every_s) * SECOND), "box", source, uuid, metric, value, "")
        for source, uuid, metric, values in series
        for index, value in enumerate(values)
    ]
    columns = TABLES["telemetry"]
    loose = pl.DataFrame(rows, schema=[column.name for column in columns], orient="row", infer_schema_length=None)
    return loose.select(pl.col(column.name).cast(column.dtype) for column in columns).sort("time_ns")


def cell(
    device: str = "cuda", batch: int = 64, mode: str = "train", *, step_ms: float | list[float] = 100.0, **more: Any
) -> Measured:
    """A finished cell."""
    log = more.pop("step_log", None)
    manifest = more.pop("manifest", {})
    return Measured(
        name=f"{mode}-{device}-{batch}",
        mode=mode,
        device=device,
        batch_size=batch,
        manifest={"host": {"memory_bytes": 64 * GIB}, **manifest},
        step_log=steps(step_ms, batch) if log is None else log,
        **more,
    )


def tables(**frames: list[dict[str, Any]]) -> dict[str, pl.DataFrame]:
    """Tables with just the columns that a rule looks at."""
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in frames.items()}


def write_study(directory: Path, cells: list[Measured], **states: str) -> Path:
    """Write a study's folder, without traces; `states` are those of cells that are not done, by name with underscores."""
    other = {name.replace("_", "-"): state for name, state in states.items()}
    listed = [_listed(one.name, one.mode, one.device, one.batch_size, "done") for one in cells]
    listed += [_listed(name, *name.split("-")[:2], int(name.split("-")[2]), state) for name, state in other.items()]
    fields = {
        "format": "stepscope-study",
        "format_version": 1,
        "shared": {"options": {"model": "resnet18", "image_size": 64, "workers": 1, "precision": "fp32"}},
        "cells": listed,
    }
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "study.json").write_text(json.dumps(fields))
    for one in cells:
        _write_run(directory / one.name, one)
    return directory


def _listed(name: str, mode: str, device: str, batch_size: int, state: str) -> dict[str, Any]:
    named = {"name": name, "mode": mode, "device": device, "batch_size": batch_size}
    return {**named, "state": state, "message": None if state == "done" else f"it is {state}"}


def _write_run(run: Path, one: Measured) -> None:
    run.mkdir()
    (run / "manifest.0.json").write_text(json.dumps({"format": "stepscope-run", **one.manifest}))
    (run / "steps.0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in one.step_log.drop("rank").to_dicts()))
    if one.telemetry is not None:
        lines = [{"header": {"host": "box", "unsupported": dict(one.unsupported)}}]
        for row in one.telemetry.to_dicts():
            kept = {"device_uuid": row["device_uuid"]} if row["device_uuid"] else {}
            lines.append({"time_ns": row["time_ns"], "source": row["source"], **kept, row["metric"]: row["value"]})
        (run / "telemetry.box.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
