"""The study recorded on an H200: what it concludes, held against its raw files, and every number traced."""

# ruff: noqa: RUF001 - dashes, minus and multiplication signs are meant
from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from analyze.report import study_document
from analyze.study import Study, read_study
from benchmarks import study_chart

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "sample_traces" / "study"
CELLS = {f"{mode}-{device}-{batch}" for mode in ("train", "infer") for device in ("cuda", "cpu") for batch in (64, 128)}
NUMERAL = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
#: fractions as percent, hours as minutes and seconds, bytes as GiB
SCALES = (1, 100, 60, 3600, 1 / 1024**3)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study() -> Study:
    return read_study(FOLDER, cache=False)


@pytest.fixture(scope="module")
def document(study: Study) -> dict[str, Any]:
    return json.loads(study_document.render(study))


def row(document: dict[str, Any], table: str, cell: str, **wanted: object) -> dict[str, Any]:
    (found,) = (
        one
        for one in document["tables"][table]
        if one["cell"] == cell and all(one[name] == value for name, value in wanted.items())
    )
    return found


def lines(cell: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in (FOLDER / cell / name).read_text(encoding="utf-8").splitlines()]


def baseline(cell: str) -> list[dict[str, Any]]:
    return [step for step in lines(cell, "steps.0.jsonl") if step["phase"] == "baseline"]


def test_all_cells_are_there_and_diagnosed(document: dict[str, Any]) -> None:
    assert {cell["name"] for cell in document["cells"]} == CELLS
    assert {(cell["state"], cell["reason"]) for cell in document["cells"]} == {("done", None)}
    assert all(cell["verdict"] for cell in document["cells"])


def test_every_question_is_answered(document: dict[str, Any]) -> None:
    assert {statement["question"] for statement in document["conclusion"]} == {1, 2, 3, 4, 5, 6, 7}


def test_the_whole_training_is_extrapolated_from_the_measured_steps_with_its_interval(document: dict[str, Any]) -> None:
    for cell in ("train-cuda-64", "train-cpu-128"):
        steps = baseline(cell)
        seconds = sum(step["dur_ns"] for step in steps) / 1e9
        images = sum(step["samples"] for step in steps)
        found = row(document, "training_time", cell)
        assert (found["stretch_images"], found["stretch_s"]) == (images, pytest.approx(seconds))
        assert found["hours"] == pytest.approx(20 * 25_000 * seconds / images / 3600)
        assert found["hours_low"] < found["hours"] < found["hours_high"] < 1.15 * found["hours_low"]
        assert found["extrapolated"] is True
    said = [one["text"] for one in document["conclusion"] if one["rule"] == "whole_training"]
    assert len(said) == 4
    assert said[0] == (
        "20 epochs of 25,000 images would take 3.0 min (2.9 min to 3.2 min) on the GPU at batch 64, "
        "extrapolated from 16,832 images in 6.2 s, steps alone."
    )


@pytest.mark.parametrize(
    ("mode", "batch", "factor", "less_waiting"),
    [("train", 64, 21.1, 26.2), ("train", 128, 14.6, 44.0), ("infer", 64, 8.64, 33.1)],
)
def test_the_gpu_is_faster_and_loading_hides_by_how_much(
    document: dict[str, Any], mode: str, batch: int, factor: float, less_waiting: float
) -> None:
    (found,) = (one for one in document["tables"]["speed_up"] if (one["mode"], one["batch_size"]) == (mode, batch))
    means = [
        [sum(step["dur_ns"] - wait * step["input_wait_ns"] for step in steps) / len(steps) for wait in (0, 1)]
        for steps in (baseline(f"{mode}-cpu-{batch}"), baseline(f"{mode}-cuda-{batch}"))
    ]
    assert found["speed_up"] == pytest.approx(means[0][0] / means[1][0]) == pytest.approx(factor, rel=0.005)
    assert found["work_speed_up"] == pytest.approx(means[0][1] / means[1][1]) == pytest.approx(less_waiting, rel=0.005)
    assert found["speed_up_low"] < factor < found["speed_up_high"]


def test_a_larger_batch_gives_nothing_to_a_gpu_that_waits_for_input(document: dict[str, Any]) -> None:
    (text,) = (one["text"] for one in document["conclusion"] if "from 64 to 128 in training on the GPU" in one["text"])
    assert "gives nothing that can be told from noise (−16 % to +10 % images a second)" in text
    assert "since it then waits for input 67 % of the time (20 % before)" in text
    assert "energy an image the same within its error" in text


def test_energy_is_what_the_cards_counter_grew_by(document: dict[str, Any]) -> None:
    steps = baseline("train-cuda-64")
    # the longer stretch, after both windows of the profiler
    after = [step for step in steps if step["step"] > 38]
    start, end = after[0]["start_ns"], after[-1]["start_ns"] + after[-1]["dur_ns"]
    counter = [(one["time_ns"], one["energy_j"]) for one in lines("train-cuda-64", "telemetry.vm.jsonl") if "energy_j" in one]
    inside = [(time, joules) for time, joules in counter if start <= time <= end]
    watts = (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]) * 1e9
    found = row(document, "energy", "train-cuda-64", part="GPU 0")
    assert found["mean_w"] == pytest.approx(watts, rel=0.02)
    assert found["image_j"] == pytest.approx(watts * (end - start) / 1e9 / (64 * len(after)), rel=0.03)
    assert (found["limit_w"], found["source"]) == (700.0, "counter")
    assert found["idle_share"] == pytest.approx(79.4 / 177.2, abs=0.005)


def test_figures_stand_beside_those_of_the_2023_study(document: dict[str, Any]) -> None:
    rows = {(one["what"], one["batch_size"]): one for one in document["tables"]["side_by_side"]}
    power, memory = rows["mean GPU:0 power", 64], rows["memory in use on the whole host, GPU training", 64]
    assert (power["study"], round(power["here"]), power["here_total"]) == ("152 of 300 W", 177, 700.0)
    assert (memory["study"], round(memory["here"], 1), round(memory["here_total"])) == ("32 of 512 GB", 2.3, 135)
    assert rows["mean GPU:1 power", 64]["here"] is None
    assert rows["CPU temperature", 64]["here"] is None
    assert "temperature of the CPU: this system shows no processor sensor" in document["not_known"]


def test_losses_start_the_same_and_accuracy_is_compared_with_care(document: dict[str, Any]) -> None:
    first = {one["cell"]: one["loss"] for one in document["tables"]["losses"] if one["step"] == 0}
    assert set(first) == {cell for cell in CELLS if cell.startswith("train")}
    # equal weights and images at each batch size: what is left is rounding
    for batch in (64, 128):
        assert first[f"train-cuda-{batch}"] == pytest.approx(first[f"train-cpu-{batch}"], rel=1e-4)
    (text,) = (one["text"] for one in document["conclusion"] if one["text"].startswith("At batch 128 CPU and GPU"))
    assert text.endswith("How far two runs on one device differ was not measured.")


def test_every_number_in_a_sentence_is_one_that_it_names(document: dict[str, Any]) -> None:
    for statement in document["conclusion"]:
        rows = [number["pointer"].split("/")[2:4] for number in statement["numbers"]]
        sizes = {
            value
            for table, index in rows
            for name, value in document["tables"][table][int(index)].items()
            if name in ("batch_size", "from_batch", "to_batch")
        }
        values = [number["value"] for number in statement["numbers"] if isinstance(number["value"], (int, float))]
        text = re.sub(r"GPU \d\b(?! %)|p99", "", statement["text"])
        for numeral in NUMERAL.findall(text):
            assert explained(numeral, [*values, *sizes]), (numeral, statement)


def explained(numeral: str, values: list[float]) -> bool:
    """Whether a value, in another unit or with one more added to it, rounds to the numeral."""
    written = float(numeral.replace(",", ""))
    digits = len(numeral.partition(".")[2])
    sums = [one + other for one, other in itertools.combinations(values, 2)]
    return any(abs(abs(value) * scale - written) <= 0.501 * 10**-digits for value in [*values, *sums] for scale in SCALES)


def test_a_number_that_nothing_bears_out_would_be_noticed() -> None:
    assert explained("67", [0.668])
    assert explained("3.0", [0.05083])
    assert not explained("68", [0.668])
    assert not explained("3.2", [0.05083])


def test_the_picture_in_the_readme_is_that_of_this_study(study: Study) -> None:
    words = re.compile(r">([^<>]+)</text>")
    stored = (ROOT / "docs" / "study.svg").read_text(encoding="utf-8")
    assert words.findall(stored) == words.findall(study_chart.chart(study)), "python -m benchmarks.study_chart draws it anew"


def test_what_the_readme_says_of_it_is_what_it_says(document: dict[str, Any]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (paragraph,) = re.findall(r"docs/study\.svg\)\n\n(.+?)\n\n", readme, re.DOTALL)
    figures = re.findall(r"\d[\d.,]* (?:min|%)|\d+×", paragraph)
    said = " ".join(one["text"] for one in document["conclusion"])
    assert len(figures) > 5
    assert [figure for figure in figures if figure not in said] == []
