from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from collect.study.matrix import Cell, matrix
from collect.study.matrix_progress import MatrixLines
from collect.study.run_matrix import Matrix, Recording
from collect.study.study_file import StudyFile, UnusableStudyError
from collect.study.time_left import Left, Running, Taken, time_left, words

SHARED = {"options": {"model": "resnet18", "image_size": 64}, "recording": {"profile": True}}
TRAIN, INFER = (Cell(mode=mode, device="cpu", batch_size=64) for mode in ("train", "infer"))


def test_lists_are_multiplied_and_what_is_inferred_with_is_trained_just_before():
    names = [cell.name for cell in matrix(["cpu", "cuda", "cpu"], [64, 128], ["infer", "train"])]
    assert names == [
        *("train-cpu-64", "infer-cpu-64", "train-cpu-128", "infer-cpu-128"),
        *("train-cuda-64", "infer-cuda-64", "train-cuda-128", "infer-cuda-128"),
    ]


def test_a_study_is_kept_and_goes_on_with_what_is_not_done(tmp_path: Path):
    study = StudyFile.create(tmp_path, [TRAIN, INFER], SHARED, ["collect"])
    (tmp_path / TRAIN.name).mkdir()
    (tmp_path / TRAIN.name / "manifest.0.json").write_text("{}")
    study.set(TRAIN, "done", steps=36)
    again = StudyFile.create(tmp_path, [TRAIN, INFER], SHARED, ["collect", "again"])
    assert [again.is_done(cell) for cell in again.cells] == [True, False]
    assert again.fields["cells"][0]["steps"] == 36
    assert not list(tmp_path.glob("*.partial"))


def test_a_done_cell_whose_run_is_gone_is_not_done(tmp_path: Path):
    study = StudyFile.create(tmp_path, [TRAIN], SHARED, [])
    study.set(TRAIN, "done")
    assert not study.is_done(TRAIN)


def test_cells_can_be_added_but_only_of_the_same_options(tmp_path: Path):
    StudyFile.create(tmp_path, [TRAIN], SHARED, [])
    assert StudyFile.create(tmp_path, [TRAIN, INFER], SHARED, []).cells == [TRAIN, INFER]
    other = {**SHARED, "options": {"model": "resnet50", "image_size": 64}}
    with pytest.raises(UnusableStudyError, match=r"other options.*resnet18.*resnet50"):
        StudyFile.create(tmp_path, [TRAIN], other, [])


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": "stepscope-run"}'])
def test_what_is_no_study_cannot_be_resumed(tmp_path: Path, text: str | None):
    if text is not None:
        (tmp_path / "study.json").write_text(text)
    with pytest.raises(UnusableStudyError):
        StudyFile.load(tmp_path)


def cell(mode: str, device: str, batch_size: int) -> Cell:
    return Cell(mode=mode, device=device, batch_size=batch_size)


TAKEN = [Taken(cell=cell("train", "cpu", 64), steps=40, startup_s=5.0, wall_s=25.0)]


def test_time_left_is_that_of_cells_alike_in_proportion_to_the_batch():
    # 5 s to start and twice 20 s of steps
    assert time_left(TAKEN, None, [cell("train", "cpu", 128)]) == Left(seconds=45.0, unknown_cells=0)


def test_cells_like_which_none_has_run_are_left_out_and_counted():
    waiting = [cell("train", "cpu", 128), cell("train", "cuda", 64), cell("infer", "cpu", 64)]
    left = time_left(TAKEN, None, waiting)
    assert left == Left(seconds=45.0, unknown_cells=2)
    assert words(left) == "about 45 s left, not counting 2 of a kind that has not run yet"


def test_the_running_cell_is_judged_by_its_own_steps_once_it_has_some():
    running = Running(cell=cell("train", "cuda", 64), steps=10, steps_to_go=30, startup_s=10.0, elapsed_s=12.0)
    # 0.2 s a step
    assert time_left([], running, []) == Left(seconds=6.0, unknown_cells=0)


def test_before_its_first_step_the_running_cell_is_judged_by_cells_alike():
    running = Running(cell=cell("train", "cpu", 128), steps=0, steps_to_go=None, startup_s=None, elapsed_s=4.0)
    assert time_left(TAKEN, running, []).seconds == 41.0
    assert time_left([], running, []) == Left(seconds=0, unknown_cells=1)


@pytest.mark.parametrize(
    ("left", "text"),
    [
        (Left(seconds=0.0, unknown_cells=4), "time left not known yet"),
        (Left(seconds=80.4, unknown_cells=0), "about 1 min 20 s left"),
        (Left(seconds=9.0, unknown_cells=0), "about 9 s left"),
    ],
)
def test_time_left_in_words(left: Left, text: str):
    assert words(left) == text


class FakeProcess:
    """Ends as the script says: with a status, or by an interruption; finished runs leave a manifest."""

    def __init__(self, task: dict[str, Any], log: Path) -> None:
        self.task, self.log = task, log
        FakeProcess.started.append(task)
        self.end = FakeProcess.ends.pop(0)
        self.stopped = False

    started: list[dict[str, Any]]
    ends: list[Any]

    def __iter__(self) -> Any:
        yield {"stage": "settling", "step": 0}
        yield {"step": 1, "to_go": 1}
        if isinstance(self.end, type):
            raise self.end
        yield {"step": 2, "to_go": 0}

    def wait(self) -> int:
        if self.end == 0:
            run = Path(self.task["out"])
            run.mkdir(parents=True)
            (run / "manifest.0.json").write_text("{}")
        self.log.write_text("" if self.end == 0 else "warning\nout of memory\n")
        return self.end

    def stop(self) -> None:
        self.log.write_text("")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a matrix whose cells end as said; returns the study and what was said on the way."""
    monkeypatch.setattr("collect.study.run_matrix.CellProcess", FakeProcess)

    def go(*ends: Any) -> tuple[StudyFile, str, Matrix]:
        FakeProcess.started, FakeProcess.ends = [], list(ends)
        study = StudyFile.create(tmp_path, [TRAIN, INFER], SHARED, [])
        stream = io.StringIO()
        runner = Matrix(study, Recording(), MatrixLines(stream), ["collect"])
        try:
            runner.run()
        except KeyboardInterrupt:
            stream.write("interrupted\n")
        return study, stream.getvalue(), runner

    return go


def test_every_cell_runs_once_and_is_told_what_it_is(run: Any):
    study, said, _ = run(0, 0)
    assert [study.is_done(cell) for cell in study.cells] == [True, True]
    first, second = FakeProcess.started
    assert first["options"] == {"model": "resnet18", "image_size": 64, "device": "cpu", "mode": "train", "batch_size": 64}
    assert first["keep_weights"] is not None
    # the stand-in wrote no weights, so there are none to infer with
    assert (second["weights"], second["keep_weights"]) == (None, None)
    assert second["limits"]["baseline_steps"] == 25
    assert said.splitlines() == [
        "stepscope: cell 1 of 2: train on cpu at batch 64",
        "stepscope: cell 2 of 2: infer on cpu at batch 64",
    ]
    assert not list(study.directory.glob("*.log"))


def test_an_interrupted_matrix_goes_on_where_it_ended(run: Any):
    study, said, _ = run(0, KeyboardInterrupt)
    assert said.endswith("interrupted\n")
    assert [study.state(cell) for cell in study.cells] == ["done", "interrupted"]
    study, said, _ = run(0)
    assert [task["options"]["mode"] for task in FakeProcess.started] == ["infer"]
    assert "1 of 2 cells are finished already and are kept" in said
    assert study.is_done(INFER)


def test_a_cell_that_fails_is_named_and_the_others_run(run: Any):
    study, said, runner = run(1, 0)
    assert [study.state(cell) for cell in study.cells] == ["failed", "done"]
    assert "train on cpu at batch 64 failed: out of memory" in said
    assert json.loads((study.directory / "study.json").read_text())["cells"][0]["message"] == "out of memory"
    assert runner.failed == [TRAIN]
    assert (study.directory / "train-cpu-64.log").exists()


def test_weights_go_as_soon_as_nobody_waits_for_them(run: Any, tmp_path: Path):
    weights = tmp_path / "train-cpu-64.weights.pt"
    weights.write_text("")
    run(0, KeyboardInterrupt)
    assert weights.exists()
    run(0)
    assert FakeProcess.started[0]["weights"] == str(weights)
    assert not weights.exists()
