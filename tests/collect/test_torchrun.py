"""Two ranks on one host, over gloo, as a launcher starts them."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from tests.collect.conftest import ROOT, Run

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytestmark = pytest.mark.slow

Python = "Callable[..., subprocess.CompletedProcess[str]]"


def launch(python: Callable[..., subprocess.CompletedProcess[str]], *arguments: str, **environment: str):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
    return python(*launcher, "-m", "collect", *arguments, cwd=ROOT, env=environment)


def check_both_ranks(run: Run) -> None:
    first, second = run.manifest(0), run.manifest(1)
    assert [(m["rank"], m["local_rank"], m["world_size"]) for m in (first, second)] == [(0, 0, 2), (1, 1, 2)]
    assert [m["exit"]["status"] for m in (first, second)] == ["done", "done"]
    assert run.phases(0) == run.phases(1)
    assert first["windows"][0]["first_step"] == second["windows"][0]["first_step"]
    assert run.annotated_steps("times", 0) == run.annotated_steps("times", 1)
    assert len(run.annotated_steps("explanations", 1)) == 2
    # one sampler for the host
    assert len(list(run.out.glob("telemetry.*"))) == 1


def test_the_built_in_workload_runs_on_two_ranks(python, recorded: Run, tmp_path: Path):
    done = launch(
        python,
        *("--device", "cpu", "--out", str(recorded.out), "--steps", "30"),
        *("--batch-size", "4", "--image-size", "32", "--workers", "0"),
        STEPSCOPE_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    check_both_ranks(recorded)


def test_a_script_runs_on_two_ranks(python, recorded: Run, tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "torch.distributed.init_process_group('gloo')\n"
        "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for _ in range(110):\n"
        "    optimizer.zero_grad(); model(torch.randn(4, 8)).square().mean().backward(); optimizer.step()\n"
        "torch.distributed.destroy_process_group()\n"
    )
    done = launch(python, "--out", str(recorded.out), "--", str(script))
    assert done.returncode == 0, done.stderr
    check_both_ranks(recorded)
    assert any(event["name"].startswith("gloo:") for event in recorded.trace("times", 1) if "name" in event)
