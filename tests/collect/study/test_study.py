"""The command line of a study, and one small study for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from collect.cli import main
from tests.collect.conftest import environment

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

SMALL = ("--image-size", "32", "--images", "32", "--workers", "0", "--steps", "2", "--baseline-steps", "2", "--no-telemetry")


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_a_list_with_cuda_on_a_machine_without_is_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert main(["--device", "cpu,cuda", "--batch-size", "64,128", "--out", str(tmp_path / "s")]) == 2
    assert "finds no usable CUDA device" in one_line(capsys)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--resume", "nowhere"], "no study"),
        (["--resume", "nowhere", "--device", "cpu"], "no other option"),
        (["--device", "cpu,auto", "--precision", "fp16"], "fp16"),
        (["--mode", "train,infer", "--expect-steps", "3"], "script"),
    ],
)
def test_unusable_options_of_a_study_are_refused_in_a_line(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert word in one_line(capsys)


@pytest.mark.parametrize("arguments", [["--device", "cpu,tpu"], ["--batch-size", "64,"], ["--mode", "test"]])
def test_lists_of_what_does_not_exist_exit_with_2(arguments: list[str]):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def collect(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "collect", *arguments]
    variables = environment() | {"STEPSCOPE_CACHE_DIR": str(tmp_path / "cache")}
    return subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_matrix_is_recorded_interrupted_and_resumed(tmp_path: Path):
    study = tmp_path / "study"
    lists = ("--device", "cpu", "--batch-size", "4", "--mode", "train,infer", "--no-profile")
    first = collect(tmp_path, *lists, *SMALL, "--out", str(study))
    states = []
    for _ in range(600):
        time.sleep(0.1)
        if (study / "study.json").exists():
            states = [cell["state"] for cell in json.loads((study / "study.json").read_text())["cells"]]
            if states[0] == "done" or first.poll() is not None:
                break
    os.kill(first.pid, signal.SIGINT)
    said = first.communicate(timeout=60)[1]
    assert first.returncode == 130, said
    assert f"--resume {study}" in said
    kept = (study / "train-cpu-4" / "manifest.0.json").stat().st_mtime_ns
    again = collect(tmp_path, "--resume", str(study))
    said = again.communicate(timeout=120)[1]
    assert again.returncode == 0, said
    assert (study / "train-cpu-4" / "manifest.0.json").stat().st_mtime_ns == kept
    trained, inferred = (json.loads((study / f"{mode}-cpu-4" / "manifest.0.json").read_text()) for mode in ("train", "infer"))
    assert trained["results"]["after_steps"] == 2
    # the same weights tell the same images apart, in another process
    assert inferred["results"]["trained"] is True
    assert inferred["results"]["held_out_correct"] == trained["results"]["held_out_correct"]
    assert len(inferred["results"]["single_image_ns"]) == 50
    assert not list(study.glob("*.pt"))
    assert {"seed": 2023, "mode": "infer"}.items() <= inferred["options"].items()
