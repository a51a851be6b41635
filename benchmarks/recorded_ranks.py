"""Records runs of several ranks with `torchrun … -m collect`, and reads what they took and what the report says of them."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def record_run(folder: Path, ranks: int, script: str, *arguments: str) -> None:
    """Record one run of a script of benchmarks/ and say how it ended."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--master-port", str(port)),
        *("-m", "collect", "--out", str(folder), "--"),
        *(str(ROOT / "benchmarks" / script), *arguments),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    print(f"{folder.name}: exit {done.returncode}", *done.stderr.splitlines()[-1:], flush=True)


def step_ms(folder: Path) -> float:
    """Mean unprofiled step over all ranks."""
    steps = [json.loads(line) for log in folder.glob("steps.*.jsonl") for line in log.read_text().splitlines()]
    unprofiled = [step["dur_ns"] for step in steps if step["phase"] == "baseline"]
    if not unprofiled:
        raise SystemExit(f"{folder.name}: no unprofiled step was recorded, so there is nothing to compare with; record it again")
    return statistics.fmean(unprofiled) / 1e6


def reported(folder: Path) -> dict[str, Any]:
    """The JSON report of one run."""
    done = subprocess.run(
        [sys.executable, "-m", "analyze", "report", str(folder), "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report
