from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from collect import run_directory
from collect.ranks import Placement

PAIR = Placement(rank=1, local_rank=1, world_size=2, local_world_size=2)


def test_names_hold_rank_window_and_host():
    assert run_directory.manifest_name(3) == "manifest.3.json"
    assert run_directory.steps_name(0) == "steps.0.jsonl"
    assert run_directory.trace_name(1, "times") == "rank1.times.pt.trace.json.gz"
    assert run_directory.telemetry_name("node/7 ü") == "telemetry.node-7.jsonl"


@pytest.mark.parametrize(
    ("text", "name"), [("../../x", "x"), ("a b", "a-b"), ("...", "unnamed"), ("", "unnamed"), ("pkg.mod", "pkg.mod")]
)
def test_a_label_never_leaves_the_folder(text: str, name: str):
    assert run_directory.safe_name(text) == name


def test_default_folder_is_named_by_time_and_label():
    found = run_directory.default_directory("resnet18-cpu", Placement(), {})
    assert re.fullmatch(r"\d{8}-\d{6}-resnet18-cpu", found.name)
    assert found.parent == Path("runs")


def test_ranks_of_one_launcher_agree_on_the_folder():
    other = Placement(rank=0, local_rank=0, world_size=2, local_world_size=2)
    assert run_directory.default_directory("x", PAIR, {}) == run_directory.default_directory("x", other, {})


def test_ranks_on_several_hosts_agree_by_their_job_or_ask_for_a_folder():
    spread = Placement(rank=0, world_size=8, local_world_size=4)
    assert run_directory.default_directory("x", spread, {"SLURM_JOB_ID": "77"}) == Path("runs/slurm-77-x")
    with pytest.raises(ValueError, match="--out"):
        run_directory.default_directory("x", spread, {})


def test_an_earlier_run_of_this_rank_is_never_overwritten(tmp_path: Path):
    wanted = tmp_path / "run"
    assert run_directory.free_directory(wanted, 0) == wanted
    wanted.mkdir()
    run_directory.write_manifest(wanted, 0, {})
    assert run_directory.free_directory(wanted, 0) == tmp_path / "run-2"
    assert run_directory.free_directory(wanted, 1) == wanted
    (tmp_path / "run-2").mkdir()
    run_directory.write_manifest(tmp_path / "run-2", 0, {})
    assert run_directory.free_directory(wanted, 0) == tmp_path / "run-3"


def test_a_manifest_is_replaced_whole(tmp_path: Path):
    run_directory.write_manifest(tmp_path, 0, {"a": 1, "long": "x" * 1000})
    run_directory.write_manifest(tmp_path, 0, {"a": 2})
    assert json.loads((tmp_path / "manifest.0.json").read_text()) == {"a": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.0.json"]
