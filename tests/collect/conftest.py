"""What the tests of recorded runs share: reading a run, and starting Python as a user would."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    """A run directory, as its own files tell it."""

    out: Path

    def manifest(self, rank: int = 0) -> dict[str, Any]:
        return json.loads((self.out / f"manifest.{rank}.json").read_text())

    def steps(self, rank: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / f"steps.{rank}.jsonl").read_text().splitlines()]

    def phases(self, rank: int = 0) -> str:
        return "".join(step["phase"][0].upper() for step in self.steps(rank))

    def trace(self, window: str, rank: int = 0) -> list[dict[str, Any]]:
        with gzip.open(self.out / f"rank{rank}.{window}.pt.trace.json.gz") as file:
            return json.load(file)["traceEvents"]

    def annotated_steps(self, window: str, rank: int = 0) -> list[int]:
        names = [e["name"] for e in self.trace(window, rank) if e.get("cat") == "user_annotation"]
        return sorted(int(name.partition("#")[2]) for name in names if name.startswith("ProfilerStep#"))

    def telemetry(self) -> list[dict[str, Any]]:
        (path,) = self.out.glob("telemetry.*.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def recorded(tmp_path: Path) -> Run:
    """The run that a test is going to record."""
    return Run(tmp_path / "run")


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python in an empty folder with our packages importable, quietly and to its end."""

    def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=options.pop("cwd", tmp_path),
            env=environment() | options.pop("env", {}),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    return run


def environment() -> dict[str, str]:
    """Return the environment for a child: our packages importable, one thread, no launcher's variables."""
    kept = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return kept | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
