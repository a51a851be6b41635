from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from collect.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.collect.conftest import Run

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep generated images in the test's folder, and one thread: two on a busy machine wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("STEPSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    yield
    torch.set_num_threads(threads)


def test_cuda_without_a_gpu_is_refused_in_a_line(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert main(["--device", "cuda", "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "stepscope collect: --device cuda: PyTorch finds no usable CUDA device here; use --device cpu\n"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--model", "resnet1"], "resnet1"),
        (["--data", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--precision", "fp16", "--device", "cpu"], "fp16"),
        (["--expect-steps", "5"], "--steps"),
    ],
)
def test_unusable_options_are_refused_in_a_line(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]):
    assert main(["--device", "cpu", *arguments]) == 2
    said = capsys.readouterr().err
    assert word in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--batch-size", "0"], ["--steps", "-1"], ["--device", "tpu"], ["--nonsense"]])
def test_options_out_of_range_exit_with_2(arguments: list[str]):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_the_built_in_workload_is_recorded(recorded: Run):
    options = ["--batch-size", "4", "--image-size", "32", "--workers", "0", "--steps", "30", "--model", "resnet18"]
    assert main(["--device", "cpu", "--out", str(recorded.out), *options]) == 0
    manifest = recorded.manifest()
    assert manifest["label"] == "resnet18-cpu"
    assert manifest["workload"] == "image-classifier"
    assert manifest["command"][:2] == ["stepscope", "collect"]
    assert manifest["options"]["image_size"] == 32
    assert (manifest["batch_size"], manifest["workers"], manifest["precision"]) == (4, 0, "fp32")
    assert len(recorded.steps()) == 30
    assert recorded.annotated_steps("times") == list(
        range(manifest["windows"][0]["first_step"], manifest["windows"][0]["last_step"] + 1)
    )
    assert {json.dumps(sorted(line)) for line in recorded.steps()} == {
        json.dumps(sorted(["step", "start_ns", "dur_ns", "host_dur_ns", "input_wait_ns", "samples", "loss", "phase"]))
    }
