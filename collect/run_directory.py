"""What does a run look like on disk? Names, the manifest's fields, and how they are written.

    manifest.<rank>.json                      what ran where; written at the start, at each window and at the end
    steps.<rank>.jsonl                        one object per step
    rank<N>.times.pt.trace.json.gz            window A: times
    rank<N>.explanations.pt.trace.json.gz     window B: shapes, memory, stacks
    telemetry.<host>.jsonl                    a header, then one object per sample

This is the only definition of the format on the writing side; `analyze` reads it by its own code.
"""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from collect.ranks import Placement

FORMAT = "stepscope-run"
FORMAT_VERSION = 1
#: default parent of runs, in the current folder
RUNS = Path("runs")


def manifest_name(rank: int) -> str:
    """Return the manifest's file name."""
    return f"manifest.{rank}.json"


def steps_name(rank: int) -> str:
    """Return the step log's file name."""
    return f"steps.{rank}.jsonl"


def trace_name(rank: int, window: str) -> str:
    """Return the file name of one window's trace."""
    return f"rank{rank}.{window}.pt.trace.json.gz"


def telemetry_name(host: str) -> str:
    """Return the file name of a host's telemetry."""
    return f"telemetry.{safe_name(host)}.jsonl"


def safe_name(text: str) -> str:
    """Keep what every file system takes: letters, digits, dot, dash, underscore."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:80] or "unnamed"


def default_directory(label: str, placement: Placement, environ: Mapping[str, str] | None = None) -> Path:
    """Return `runs/<timestamp>-<label>`, the same on every rank.

    Ranks of one host agree through their launcher's start; across hosts only a scheduler's job id is shared.
    Raises ValueError where ranks on several hosts have nothing in common to name the run by.
    """
    environ = os.environ if environ is None else environ
    name = safe_name(label)
    if placement.is_alone:
        return RUNS / f"{_timestamp(time.time())}-{name}"
    job = environ.get("SLURM_JOB_ID")
    if job:
        return RUNS / f"slurm-{safe_name(job)}-{name}"
    if placement.spans_hosts:
        raise ValueError("ranks run on several hosts: name one folder for all of them with --out")
    return RUNS / f"{_timestamp(_launcher_started_s())}-{name}"


def free_directory(wanted: Path, rank: int) -> Path:
    """Return `wanted`, or `wanted-2`, `wanted-3` … where this rank has already recorded a run there."""
    candidate, number = wanted, 1
    while (candidate / manifest_name(rank)).exists():
        number += 1
        candidate = wanted.with_name(f"{wanted.name}-{number}")
    return candidate


def write_manifest(directory: Path, rank: int, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest in one go, so that a reader never sees half of it."""
    final = directory / manifest_name(rank)
    partial = final.with_suffix(".json.partial")
    partial.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    partial.replace(final)


def clock_anchor() -> dict[str, int]:
    """Read the wall and the monotonic clock together, so that either can be turned into the other."""
    return {"wall_ns": time.time_ns(), "monotonic_ns": time.monotonic_ns()}


def _timestamp(seconds: float) -> str:
    return time.strftime("%Y%m%d-%H%M%S", time.localtime(seconds))


def _launcher_started_s() -> float:
    import psutil

    return float(psutil.Process(os.getppid()).create_time())
