"""What does a study's own file say, and what do the files of its runs say that no trace holds?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from analyze.errors import InputError
from analyze.ingest import run_files

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

NAME = "study.json"


def study_fields(directory: Path) -> dict[str, Any]:
    """Read `study.json`. Raises InputError with one line where there is none, or none that can be used."""
    file = directory / NAME
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{directory} holds no study: there is no {NAME} in it; record one with stepscope collect") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    cells = fields.get("cells") if isinstance(fields, dict) else None
    if not isinstance(cells, list) or fields.get("format") != "stepscope-study":
        raise InputError(f"{file} is not the file of a study")
    if not all(isinstance(cell, dict) and _is_name(cell.get("name")) for cell in cells):
        raise InputError(f"{file} names cells that are no folders of the study")
    return dict(fields)


def _is_name(name: object) -> bool:
    """A folder directly in the study: a file that somebody sent must not lead elsewhere."""
    return isinstance(name, str) and bool(name) and name not in {".", ".."} and not set(name) & set("/\\\0")


def manifest_of(run: Path) -> dict[str, Any]:
    """Read the manifest of a run of one rank. Raises InputError where there is none."""
    try:
        return run_files.manifest(run / "manifest.0.json")
    except (OSError, ValueError) as error:
        raise InputError(f"its run cannot be read: {error}") from error


def step_log_of(run: Path) -> pl.DataFrame:
    """Read the step log of a run of one rank. Raises InputError where there is none."""
    try:
        return run_files.step_log(0, run / "steps.0.jsonl")
    except OSError as error:
        raise InputError(f"its steps cannot be read: {error}") from error


def telemetry_of(run: Path) -> tuple[dict[str, Any], pl.DataFrame | None]:
    """Read header and samples of a run's telemetry; an empty header and None where none was recorded."""
    for file in sorted(run.glob("telemetry.*.jsonl")):
        header, samples = run_files.telemetry(file, file.name.split(".")[1])
        return header, samples
    return {}, None
