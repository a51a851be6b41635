"""The Study page: without a study, with one, with one that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import words
from tests.study import whole
from tests.study.made_up import cell, write_study
from views.shell.studies import study_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from streamlit.testing.v1 import AppTest

    Show = Callable[..., AppTest]


def looked_at(show: Show, folder: Path) -> AppTest:
    """The page with this folder typed in."""
    return next(box for box in show(None, "study").text_input if box.label == "Folder with studies").input(str(folder)).run()


def test_without_a_study_the_page_says_how_to_record_one(show: Show, tmp_path: Path) -> None:
    at = looked_at(show, tmp_path)
    assert not at.exception
    if not at.selectbox:  # a sample may be there
        assert "--device cpu,cuda --batch-size 64,128 --mode train,infer" in words(at)


def test_a_study_is_answered_drawn_and_held_against_the_published_one(show: Show, tmp_path: Path) -> None:
    write_study(tmp_path / "mine", whole.cells())
    at = looked_at(show, tmp_path)
    assert not at.exception
    said = words(at)
    for text in (
        "study of resnet18",
        "For training at batch 64 the GPU is 10× faster than the CPU",  # noqa: RUF001
        "1. How busy are CPU and GPU",
        "extrapolated from",
        "leaves GPU 1 idle",
        "only root may read the processor",
        "2309.02521",
    ):
        assert text in said, text
    # images a second of both modes, then what each question shows; without traces nothing of where a step goes
    assert len(at.get("plotly_chart")) == 2 + 3 + 1 + 1 + 1
    assert "how they differ" in said
    assert "≈ 13 h" in said


@pytest.mark.parametrize("name", ["", "study.json"])
def test_a_study_is_opened_by_its_path(show: Show, tmp_path: Path, name: str) -> None:
    folder = write_study(tmp_path / "one of mine", [cell("cpu")])
    at = show(None, "open")
    next(box for box in at.text_input if box.label == "Path or address").set_value(f'"{folder / name}"')
    next(button for button in at.button if button.label == "Open path").click().run()
    assert not at.exception
    assert at.title[0].value == "Study"
    assert at.selectbox[0].options[0].endswith(" / one of mine")
    assert "study of resnet18" in words(at)


def test_a_study_stands_among_recorded_runs_and_is_opened_from_there(show: Show, tmp_path: Path) -> None:
    write_study(tmp_path / "mine", [cell("cpu")])
    at = show(None, "open")
    next(box for box in at.text_input if box.label == "Folder with runs").set_value(str(tmp_path)).run()
    runs = at.selectbox[0]
    (place,) = [index for index, option in enumerate(runs.options) if "/ mine (study), " in option]
    runs.select_index(place)
    next(button for button in at.button if button.label == "Open run").click().run()
    assert not at.exception
    assert at.title[0].value == "Study"
    assert at.selectbox[0].options[0].endswith(" / mine")


def test_a_cell_of_a_study_is_a_run_like_any_other(tmp_path: Path) -> None:
    folder = write_study(tmp_path / "mine", [cell("cpu")])
    assert study_at(str(folder / "train-cpu-64")) is None
    assert study_at(str(tmp_path / "nowhere")) is None
    assert study_at("a\0b") is None
    assert study_at(str(folder)) == folder


def test_epochs_are_asked_for(show: Show, tmp_path: Path) -> None:
    write_study(tmp_path / "mine", whole.cells()[:1])
    at = looked_at(show, tmp_path)
    next(box for box in at.number_input if box.label == "Epochs").set_value(1).run()
    assert not at.exception
    assert "1 epoch of 25,000 images would take" in words(at)


def test_a_study_of_one_device_without_telemetry_is_shown_too(show: Show, tmp_path: Path) -> None:
    write_study(tmp_path / "mine", [cell("cpu")])
    at = looked_at(show, tmp_path)
    assert not at.exception
    assert "No telemetry was recorded." in words(at)


def test_a_study_that_cannot_be_read_says_why_as_text(show: Show, tmp_path: Path) -> None:
    write_study(tmp_path / "mine", [], train_cpu_64="interrupted")
    at = looked_at(show, tmp_path)
    assert not at.exception
    assert "no cell of this study is finished" in at.code[0].value
