"""From a folder to what it says: reading, what is missing, and numbers that stand where sentences say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from analyze import cli
from analyze.errors import InputError
from analyze.report import study_document, study_html, study_text
from analyze.study import read_study
from tests.study import whole
from tests.study.made_up import cell, write_study

if TYPE_CHECKING:
    from pathlib import Path

HTML = "<img src=x onerror=alert(1)>\x1b[31m"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study") / "one", whole.cells(), infer_cpu_256="waiting")


@pytest.fixture(scope="module")
def document(folder: Path) -> dict[str, Any]:
    return json.loads(study_document.render(read_study(folder)))


def at(document: Any, pointer: str) -> Any:
    for key in pointer.split("/")[1:]:
        document = document[int(key) if isinstance(document, list) else key]
    return document


def test_every_sentence_rests_on_numbers_that_stand_in_the_document(document: dict[str, Any]) -> None:
    assert len(document["conclusion"]) > 20
    for statement in document["conclusion"]:
        assert statement["numbers"], statement["text"]
        for number in statement["numbers"]:
            assert at(document, number["pointer"]) == number["value"]
            assert number["value"] is not None


def test_every_question_is_answered(document: dict[str, Any]) -> None:
    assert {statement["question"] for statement in document["conclusion"]} == {1, 2, 3, 4, 5, 6, 7}
    # what devices wait for, and operators, need traces, which this study lacks
    assert {"waiting", "costly_operators"}.isdisjoint(statement["rule"] for statement in document["conclusion"])
    reasons = {one["name"]: one["reason"] for one in document["cells"]}
    assert "without the profiler" in reasons["train-cpu-64"]


def test_the_conclusion_in_short(document: dict[str, Any]) -> None:
    assert document["in_short"][0].startswith("For training at batch 64 the GPU is 10× faster than the CPU (9.9–10).")  # noqa: RUF001
    assert "leaves GPU 1 idle: GPU 0 45 % and 152 W, GPU 1 0 % and 23 W" in document["in_short"][-1]


def test_figures_stand_beside_those_of_the_2023_study_and_say_where_they_come_from(document: dict[str, Any]) -> None:
    by_what = {(row["what"], row["device"], row["batch_size"]): row for row in document["tables"]["side_by_side"]}
    hours = by_what["20 epochs of 25,000 images", "cpu", 64]
    # 500,000 images, 64 in 0.4 s
    assert (hours["study"], hours["here"], hours["extrapolated"]) == ("≈ 13 h", pytest.approx(500_000 / 160 / 3600), True)
    assert at(document, f"/tables/{hours['table']}/{hours['row']}/{hours['column']}") == pytest.approx(hours["here"])
    assert by_what["mean GPU:1 power", "cuda", 64]["here"] == pytest.approx(23.0)
    assert by_what["accuracy on images not trained on", "cuda", 64]["here"] == pytest.approx(97.66, abs=0.01)
    assert by_what["CPU temperature", "cpu", 64]["here"] is None
    assert "2309.02521" in document["published_source"]


def test_what_is_not_known_is_said_with_the_reason(document: dict[str, Any]) -> None:
    assert "infer-cpu-256: it is waiting" in document["not_known"]
    energy = "power and energy of the CPU: only root may read the processor's energy counter on this system"
    assert energy in document["not_known"]
    assert not any("nothing ran on a GPU" in text for text in document["not_known"])


def test_a_study_of_the_cpu_alone_claims_no_speed_up(tmp_path: Path) -> None:
    found = read_study(write_study(tmp_path / "s", [cell("cpu"), cell("cpu", 128)]))
    assert any("nothing ran on a GPU" in text for text in found.not_known)
    assert found.tables["speed_up"].is_empty()
    said = "".join(text for line in study_text.lines(found, 80) for text, _ in line)
    assert "not measured" in said
    assert "faster than" not in said


def test_epochs_and_images_can_be_chosen(folder: Path) -> None:
    found = read_study(folder, epochs=1, images_per_epoch=160 * 3600)
    assert found.tables["training_time"]["hours"][0] == pytest.approx(1.0)


def test_the_text_is_as_wide_as_asked(folder: Path) -> None:
    lines = ["".join(text for text, _ in line) for line in study_text.lines(read_study(folder), 80)]
    assert max(map(len, lines)) <= 80
    assert "extrapolated" in "\n".join(lines)
    assert lines[0] == "study of resnet18, images of 64 pixels, 1 worker, fp32: 8 of 9 cells"


def test_the_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    page = study_html.render(read_study(folder))
    assert "<script" not in page
    assert "http://" not in page
    assert "default-src 'none'" in page
    assert "≈ 13 h" in page


def test_names_are_text_whatever_they_contain(tmp_path: Path) -> None:
    study = write_study(tmp_path / "s", [cell("cpu")])
    fields = json.loads((study / "study.json").read_text())
    fields["shared"]["options"]["model"] = HTML
    fields["cells"].append({**fields["cells"][0], "name": "broken", "state": "failed", "message": HTML})
    (study / "study.json").write_text(json.dumps(fields))
    found = read_study(study)
    assert "<img" not in study_html.render(found)
    assert "\x1b" not in "".join(text for line in study_text.lines(found, 80) for text, _ in line)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "holds no study"),
        ("{", "cannot be read"),
        ("[]", "is not the file of a study"),
        ('{"format": "stepscope-run", "cells": []}', "is not the file of a study"),
        ('{"format": "stepscope-study", "cells": [{"name": "../elsewhere"}]}', "no folders of the study"),
        ('{"format": "stepscope-study", "cells": [{"name": ".."}]}', "no folders of the study"),
        ('{"format": "stepscope-study", "cells": [{"name": "a", "state": "waiting"}]}', "--resume"),
    ],
)
def test_what_is_no_study_is_refused_in_a_line(
    tmp_path: Path, text: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        (tmp_path / "study.json").write_text(text)
    with pytest.raises(InputError, match=said):
        read_study(tmp_path)
    assert cli.main(["study", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_cell_whose_run_is_gone_is_named_and_the_others_stay(tmp_path: Path) -> None:
    study = write_study(tmp_path / "s", [cell("cpu"), cell("cpu", 128)])
    (study / "train-cpu-128" / "manifest.0.json").unlink()
    found = read_study(study)
    assert found.tables["throughput"]["cell"].to_list() == ["train-cpu-64"]
    assert any(text.startswith("train-cpu-128: its run cannot be read") for text in found.not_known)


def test_the_command_prints_text_or_json_or_writes_a_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["study", str(folder), "--epochs", "1"]) == 0
    assert "1 epoch of 25,000 images" in capsys.readouterr().out.replace("\n    ", " ")
    assert cli.main(["study", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1
    page = tmp_path / "study.html"
    assert cli.main(["study", str(folder), "--html", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert cli.main(["study", str(folder), "--html", str(page)]) == 2
    assert cli.main(["study", str(folder), "--epochs", "0"]) == 2


def test_a_study_is_no_run_of_many_ranks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(folder)]) == 2
    assert f"stepscope study {folder}" in capsys.readouterr().err
