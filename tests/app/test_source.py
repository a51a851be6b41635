"""What a path stands for, when it counts as changed, and which runs are offered."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from analyze.errors import InputError
from views.shell.source import fingerprint, from_path, recorded_runs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("text", ["", "   ", "/no/such/file.json", "a\x00b"])
def test_what_cannot_be_opened_is_one_line(text: str) -> None:
    with pytest.raises(InputError) as raised:
        from_path(text)
    assert "\n" not in str(raised.value)


def test_a_path_may_be_quoted_and_relative_and_of_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b.json").write_text("{}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    wanted = (str(tmp_path / "a b.json"),)
    assert from_path(" 'a b.json' ").paths == from_path("~/a b.json").paths == from_path("$HOME/a b.json").paths == wanted


def test_a_file_is_the_same_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}")
    before = fingerprint(file)
    assert fingerprint(file) == before
    os.utime(file, ns=(1, 1))
    assert fingerprint(file) != before


def test_a_directory_changes_with_the_files_in_it(tmp_path: Path) -> None:
    before = fingerprint(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "steps.0.jsonl").write_text("{}\n")
    between = fingerprint(tmp_path)
    (tmp_path / "sub" / "steps.0.jsonl").write_text("{}\n{}\n")
    assert len({before, between, fingerprint(tmp_path)}) == 3


def test_an_address_is_read_anew_each_time() -> None:
    first, second = from_path("s3://bucket/trace.json"), from_path("s3://bucket/trace.json")
    assert first.paths == second.paths == ("s3://bucket/trace.json",)
    assert first.key != second.key


def test_runs_are_found_one_or_two_folders_deep_newest_first(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "study/old")):
        (tmp_path / name).mkdir(parents=True)
        manifest = tmp_path / name / "manifest.0.json"
        manifest.write_text("{}")
        os.utime(manifest, (1000 - age, 1000 - age))
    (tmp_path / "no run").mkdir()
    assert recorded_runs([tmp_path, tmp_path / "missing"]) == [tmp_path / "new", tmp_path / "study" / "old"]


def test_a_study_is_shown_by_its_own_page(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(InputError, match="Study page"):
        from_path(str(tmp_path))
