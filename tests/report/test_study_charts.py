"""What a study's charts are given: numbers beside bars, shares that add up, colours by device."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analyze.report.charts.study import causes_figure, latency_figure, throughput_figure, training_time_figure
from analyze.report.charts.study_lines import loss_figure, over_time_figure
from analyze.study.model import CellState, Study
from analyze.study.study import work_out
from analyze.study.tables.over_time import over_time
from tests.study import whole
from tests.study.made_up import cell

BLUE, GREEN = "#3b7dd8", "#2a9d8f"


def study(cells: list, epochs: int = 20) -> Study:
    states = [
        CellState(name=one.name, mode=one.mode, device=one.device, batch_size=one.batch_size, state="done") for one in cells
    ]
    return Study(
        source="s", options={}, epochs=epochs, images_per_epoch=25_000, cells=tuple(states), tables=work_out(cells, epochs, 25_000),
        conclusion=(), over_time=over_time(cells), not_known=(), verdicts={},
    )  # fmt: skip


@pytest.fixture(scope="module")
def recorded() -> Study:
    return study(whole.cells())


def test_a_bar_has_its_number_beside_its_interval_and_the_colour_of_its_device(recorded: Study) -> None:
    figure = throughput_figure(recorded, "train")
    bars, numbers = figure["data"]
    assert bars["y"] == ["CPU, batch 64", "GPU, batch 64", "CPU, batch 128", "GPU, batch 128"]
    assert bars["x"] == pytest.approx([160.0, 1600.0, 160.0, 2133.3], rel=1e-4)
    assert bars["marker"]["color"] == [GREEN, BLUE, GREEN, BLUE]
    assert numbers["text"] == [" 160", " 1,600", " 160", " 2,133"]
    assert all(end >= value for end, value in zip(numbers["x"], bars["x"], strict=True))
    assert figure["layout"]["xaxis"]["range"][1] > max(numbers["x"])


def test_a_cell_of_too_few_steps_has_a_bar_without_an_interval() -> None:
    bars, _ = throughput_figure(study([cell(step_ms=[100.0, 100.0])]), "train")["data"]
    assert (bars["error_x"]["array"], bars["error_x"]["arrayminus"]) == ([0.0], [0.0])


def test_the_whole_training_says_that_it_is_extrapolated(recorded: Study) -> None:
    figure = training_time_figure(recorded)
    assert figure["layout"]["title"]["text"] == "20 epochs of 25,000 images, extrapolated"
    assert figure["data"][1]["text"] == [" 52 min", " 5.2 min", " 52 min", " 3.9 min"]
    assert training_time_figure(study([cell()], epochs=1))["layout"]["title"]["text"].startswith("1 epoch of")


def test_latency_names_median_and_p99(recorded: Study) -> None:
    assert latency_figure(recorded)["data"][1]["text"][1] == " 6.67, p99 6.93"


def test_what_was_not_recorded_is_not_drawn() -> None:
    trained = study([cell("cpu")])
    assert throughput_figure(trained, "infer") is None
    assert latency_figure(trained) is None
    assert causes_figure(trained) is None
    assert [over_time_figure(trained, question) for question in (1, 2, 3)] == [None] * 3
    assert training_time_figure(study([cell(mode="infer")])) is None
    assert loss_figure(study([cell(mode="infer")])) is None


def test_parts_of_a_step_of_cpu_and_gpu_are_drawn_alike_and_add_up() -> None:
    gpu = {"compute": 1.0, "idle_launch": 4.0, "unexplained": 2.0, "idle_other": 2.0, "idle_input_wait": 1.0}
    cpu = {"forward": 4.0, "backward": 5.0, "other": 1.0}
    cells = [cell(parts_ns=gpu, profiled_steps=3), cell("cpu", parts_ns=cpu, profiled_steps=1), cell(mode="infer", parts_ns=gpu)]
    figure = causes_figure(study(cells))
    assert figure["layout"]["title"]["text"] == "Where the training step goes, 1 profiled step"
    drawn = {trace["name"]: trace["x"] for trace in figure["data"]}
    assert drawn == {
        "computing": pytest.approx([90.0, 10.0]),
        "waiting for input": pytest.approx([0.0, 10.0]),
        "waiting for launches": pytest.approx([0.0, 40.0]),
        "other or not known": pytest.approx([10.0, 40.0]),
    }
    assert figure["data"][0]["y"] == ["CPU, batch 64", "GPU, batch 64"]


def test_sensors_are_drawn_for_trainings_in_the_colour_of_their_device(recorded: Study) -> None:
    figure = over_time_figure(recorded, 1)
    assert [one["text"] for one in figure["layout"]["annotations"]] == ["GPU utilisation, %", "CPU utilisation, % of all cores"]
    named = [trace["name"] for trace in figure["data"] if trace["showlegend"]]
    assert sorted(named) == ["CPU, batch 128", "CPU, batch 64", "GPU, batch 128", "GPU, batch 64"]
    lines = {trace["name"]: trace["line"] for trace in figure["data"]}
    assert (lines["GPU, batch 64"]["color"], lines["GPU, batch 64"]["dash"]) == (BLUE, "solid")
    assert (lines["CPU, batch 128"]["color"], lines["CPU, batch 128"]["dash"]) == (GREEN, "dot")
    # two cards in each of four cells, the second fainter
    assert sum("opacity" in trace for trace in figure["data"]) == 4


def test_a_study_of_inference_alone_shows_its_sensors() -> None:
    assert over_time_figure(study([one for one in whole.cells() if one.mode == "infer"]), 3) is not None


def test_losses_stand_side_by_side_and_none_that_a_logarithm_cannot_show(recorded: Study) -> None:
    figure = loss_figure(recorded)
    assert [trace["name"] for trace in figure["data"]] == ["CPU, batch 64", "CPU, batch 128", "GPU, batch 64", "GPU, batch 128"]
    assert figure["data"][0]["x"] == list(range(32))
    nothing = recorded.tables["losses"].with_columns(loss=pl.lit(0.0))
    assert loss_figure(replace(recorded, tables={**recorded.tables, "losses": nothing})) is None
