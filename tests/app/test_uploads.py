"""Uploads: private to the session, stored under names that no user chose, gone when they were read."""

from __future__ import annotations

import hashlib
import io
import stat
from pathlib import Path

import pytest

from views.shell.source import from_upload
from views.shell.uploads import PrivateFolder, stored_name


class Upload(io.BytesIO):
    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


@pytest.fixture
def folder() -> PrivateFolder:
    made = PrivateFolder()
    yield made
    made.close()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


@pytest.mark.parametrize(
    "name",
    [
        "../../x.json",
        "/etc/passwd",
        r"..\..\x.json",
        "a.exe:$s.json",
        "",
        ".",
        "..",
        "x\x00.json",
        "manifest.0.json/../../x",
        "~/x",
    ],
)
def test_no_name_leads_out_of_the_folder(folder: PrivateFolder, name: str) -> None:
    stored = folder.store([Upload(name, b"{}")])
    (path,) = map(Path, stored.paths)
    assert path.name == f"{digest(b'{}')}.trace"
    assert path.resolve().is_relative_to(folder.path.resolve())
    assert [file for file in folder.path.rglob("*") if file.is_file()] == [path]


def test_only_the_owner_may_look_into_the_folder(folder: PrivateFolder) -> None:
    folder.store([Upload("a.json", b"{}")])
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder.path, *folder.path.iterdir())} == {0o700}


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("trace.json", "D.trace"),
        ("my_rank-12.json.gz", "D.rank12.trace"),
        ("worker3.pt.trace.json", "D.rank3.trace"),
        ("manifest.0.json", "manifest.0.json"),
        ("steps.11.jsonl", "steps.11.jsonl"),
        ("telemetry.node-3.jsonl", "telemetry.node-3.jsonl"),
        ("rank1.times.pt.trace.json.gz", "rank1.times.pt.trace.json.gz"),
        ("rank1.times.2.pt.trace.json.gz", "rank1.times.2.pt.trace.json.gz"),
        ("telemetry...jsonl", "D.trace"),
        ("telemetry.a/b.jsonl", "D.trace"),
        ("manifest.0.json\n", "D.trace"),
    ],
)
def test_a_stored_name_tells_the_rank_and_files_of_a_run_keep_theirs(name: str, stored: str) -> None:
    assert stored_name(name, "D") == stored


def test_the_same_content_has_the_same_key_whatever_it_is_called(folder: PrivateFolder) -> None:
    keys = [folder.store([Upload(name, content)]).key for name, content in (("a", b"x"), ("b", b"x"), ("a", b"y"))]
    assert keys[0] == keys[1] != keys[2]


def test_files_of_a_run_are_opened_as_one_directory(folder: PrivateFolder) -> None:
    stored = folder.store([Upload("manifest.0.json", b"{}"), Upload("rank0.times.pt.trace.json.gz", b"y")])
    (path,) = map(Path, stored.paths)
    assert sorted(file.name for file in path.iterdir()) == ["manifest.0.json", "rank0.times.pt.trace.json.gz"]


def test_two_files_of_one_name_are_both_kept(folder: PrivateFolder) -> None:
    stored = folder.store([Upload("manifest.0.json", b"a"), Upload("manifest.0.json", b"b")])
    (path,) = map(Path, stored.paths)
    assert sorted(file.name for file in path.iterdir()) == [f"{digest(b'b')}.trace", "manifest.0.json"]


def test_the_whole_file_is_stored_even_where_somebody_read_from_it(folder: PrivateFolder) -> None:
    upload = Upload("a", b"0123456789" * 1_000_000)
    upload.read(7)
    (path,) = map(Path, folder.store([upload]).paths)
    assert path.stat().st_size == 10_000_000


def test_forgetting_an_upload_leaves_nothing_of_it_and_all_of_the_others(folder: PrivateFolder) -> None:
    first, second = folder.store([Upload("a", b"1")]), folder.store([Upload("b", b"2")])
    folder.forget(first)
    assert [file.read_bytes() for file in folder.path.rglob("*") if file.is_file()] == [b"2"]
    folder.forget(second)
    assert list(folder.path.iterdir()) == []


def test_closing_the_session_leaves_nothing(folder: PrivateFolder) -> None:
    folder.store([Upload("a", b"1")])
    folder.close()
    assert not folder.path.exists()


def test_messages_name_the_file_as_the_user_did(folder: PrivateFolder) -> None:
    stored = folder.store([Upload("my <b>trace</b>\u202e.json", b"no trace")])
    source = from_upload(stored)
    assert source.title == r"my <b>trace</b>\u202e.json"
    assert source.named(f"{stored.paths[0]}: no trace") == r"my <b>trace</b>\u202e.json: no trace"
