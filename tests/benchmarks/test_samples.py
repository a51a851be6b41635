"""A sample run keeps what was recorded, and no folder of the machine."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from benchmarks import samples

if TYPE_CHECKING:
    from pathlib import Path

WINDOWS = [
    {"name": "times", "trace": "rank0.times.pt.trace.json.gz"},
    {"name": "explanations", "trace": "rank0.explanations.pt.trace.json.gz"},
]


def _run(folder: Path, names: list[str]) -> Path:
    folder.mkdir()
    manifest = {"command": ["/srv/project/benchmarks/train.py", "--out", "/tmp/runs/mine"], "windows": WINDOWS}
    (folder / "manifest.0.json").write_text(json.dumps(manifest))
    for window in WINDOWS:
        (folder / window["trace"]).write_bytes(gzip.compress(json.dumps(names).encode()))
    return folder


def _names(path: Path) -> list[str]:
    names: list[str] = json.loads(gzip.decompress(path.read_bytes()))
    return names


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "FAULTS", tmp_path / "faults")


def test_folders_above_packages_the_library_and_the_project_are_cut(tmp_path: Path) -> None:
    run = _run(
        tmp_path / "run",
        [
            "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py(12): forward",
            "/usr/lib/python3.12/threading.py(3): run",
            "/home/someone/work/collect/recorder.py(4): step",
            "aten::div /mul",
        ],
    )
    samples.make(run, "mine", explanations=True)
    assert _names(tmp_path / "faults/mine/rank0.times.pt.trace.json.gz") == [
        "torch/nn/modules/module.py(12): forward",
        "threading.py(3): run",
        "collect/recorder.py(4): step",
        "aten::div /mul",
    ]
    manifest = json.loads((tmp_path / "faults/mine/manifest.0.json").read_text())
    assert manifest["command"] == ["benchmarks/train.py", "--out", "runs/mine"]


def test_the_window_with_stacks_goes_with_its_line_in_the_manifest(tmp_path: Path) -> None:
    samples.make(_run(tmp_path / "run", []), "mine", explanations=False)
    assert sorted(path.name for path in (tmp_path / "faults/mine").iterdir()) == [
        "manifest.0.json",
        "rank0.times.pt.trace.json.gz",
    ]
    assert json.loads((tmp_path / "faults/mine/manifest.0.json").read_text())["windows"] == WINDOWS[:1]


def test_a_folder_that_is_left_ends_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="/opt/secret"):
        samples.make(_run(tmp_path / "run", ["/opt/secret/train.py(3): main"]), "mine", explanations=True)


def test_one_run_gives_one_file(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", ["aten::mm"])
    samples.make(run, "one", explanations=True)
    samples.make(run, "two", explanations=True)
    name = "rank0.times.pt.trace.json.gz"
    assert (tmp_path / "faults/one" / name).read_bytes() == (tmp_path / "faults/two" / name).read_bytes()
