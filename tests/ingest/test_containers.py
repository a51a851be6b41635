"""Files are what their bytes say, wherever they lie and whatever they are called."""

from __future__ import annotations

import gzip
import http.server
import io
import tarfile
import threading
import zipfile
from functools import partial
from pathlib import Path

import pytest
import zstandard

from analyze.errors import InputError, LimitExceeded, TraceFormatError
from analyze.ingest import Limits, read
from tests.ingest.traces import count, kernel, op, quality, rows, text, write

ONE = text(op("one")).encode()


def tar(*members: tuple[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def names(path, **options):
    return [rows(trace, "op_events", "name")[0] for trace in read(path, cache=False, **options).traces]


@pytest.mark.parametrize(
    "content",
    [
        ONE,
        b"\xef\xbb\xbf" + ONE,
        gzip.compress(ONE),
        gzip.compress(gzip.compress(ONE)),
        gzip.compress(ONE[:50]) + gzip.compress(ONE[50:]) + b"\0" * 512,
        zstandard.compress(ONE),
        zstandard.compress(ONE[:50]) + zstandard.compress(ONE[50:]),
        zipped(("a.json", ONE)),
        zipped(("a.json.gz", gzip.compress(ONE))),
        tar(("a.json", ONE)),
        tar(("a.json", ONE), mode="w:gz"),
        zstandard.compress(tar(("a.json.gz", gzip.compress(ONE)))),
        zipped(("inner.zip", zipped(("a.json", ONE)))),
    ],
    ids=[
        "plain", "byte order mark", "gzip", "gzip twice", "gzip members and padding", "zstd", "zstd frames", "zip", "gzip in zip",
        "tar", "tar.gz", "gzip in tar.zst", "zip in zip",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["trace.json", "trace.bin", "trace.gz", "trace"])
def test_every_container_is_known_by_content(tmp_path, content, name):
    (tmp_path / name).write_bytes(content)
    assert names(tmp_path / name) == ["one"]


def test_gzip_headers_with_every_optional_field_are_skipped(tmp_path):
    plain = gzip.compress(ONE)
    header = plain[:3] + bytes([2 | 4 | 8 | 16]) + plain[4:10] + b"\x03\x00abc" + b"name\0" + b"comment\0" + b"\x00\x00"
    (tmp_path / "a.json").write_bytes(header + plain[10:])
    assert names(tmp_path / "a.json") == ["one"]


def test_something_after_the_gzip_is_said_and_costs_nothing(tmp_path):
    (tmp_path / "a.json").write_bytes(gzip.compress(ONE) + b"garbage behind it")
    (trace,) = read(tmp_path / "a.json", cache=False).traces
    assert count(trace) == 1
    assert "damaged-compression" in quality(trace)


def test_many_members_are_many_traces(tmp_path):
    content = zipped(
        ("x/rank0.json", text(op("zero")).encode()), ("x/rank1.json", text(op("one")).encode()), ("x/readme.txt", b"hello")
    )
    (tmp_path / "run.zip").write_bytes(content)
    recording = read(tmp_path / "run.zip", cache=False)
    assert [(trace.name, trace.rank) for trace in recording.traces] == [("rank0.json", 0), ("rank1.json", 1)]
    assert recording.traces[0].path == f"{tmp_path / 'run.zip'}!x/rank0.json"
    assert [each.file for each in recording.set_aside] == ["readme.txt"]


def test_a_run_directory_in_an_archive_is_a_run(tmp_path):
    manifest = b'{"format": "stepscope-run", "format_version": 1, "rank": 0, "windows": [{"name": "times", "trace": "t.json"}]}'
    (tmp_path / "run.tgz").write_bytes(tar(("run/manifest.0.json", manifest), ("run/t.json", ONE), mode="w:gz"))
    recording = read(tmp_path / "run.tgz", cache=False)
    assert recording.manifests[0]["rank"] == 0
    assert [trace.window for trace in recording.traces] == ["times"]


@pytest.mark.parametrize("name", ["../../x.json", "/etc/x.json", "..\\..\\x.json", "a\0b.json", "C:\\x.json"])
def test_member_names_never_decide_where_bytes_are_written(tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.tar").write_bytes(tar((name.replace("\0", "_"), ONE)))
    before = sorted(tmp_path.rglob("*"))
    recording = read(inside / "a.tar", cache=False)
    assert rows(recording.traces[0], "op_events", "name") == ["one"]
    assert sorted(tmp_path.rglob("*")) == before


def test_links_in_a_tar_are_not_followed(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("link.json")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    (tmp_path / "a.tar").write_bytes(out.getvalue())
    with pytest.raises(InputError):
        read(tmp_path / "a.tar", cache=False)


def test_temporary_copies_go_with_the_recording(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "a.zip").write_bytes(zipped(("a.json", ONE)))
    recording = read(tmp_path / "a.zip", cache=False)
    assert recording.traces[0].frames["raw"].collect().height == 1
    assert list((tmp_path / "temporary").iterdir())
    del recording
    assert not list((tmp_path / "temporary").iterdir())


def bomb(megabytes: int) -> bytes:
    return gzip.compress(b'{"traceEvents": [' + b" " * (megabytes << 20), 9)


def test_data_that_expand_too_much_are_refused_while_reading(tmp_path):
    (tmp_path / "a.json.gz").write_bytes(bomb(80))
    with pytest.raises(TraceFormatError, match=r"expand more than 200 times; raise Limits\.expansion"):
        read(tmp_path / "a.json.gz", cache=False)
    assert read(tmp_path / "a.json.gz", cache=False, limits=Limits(expansion=2000)).traces[0].info.event_count == 0


def test_data_that_expand_too_much_inside_a_zip_are_refused_too(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(("a.json", b" " * (80 << 20))))
    with pytest.raises(TraceFormatError, match=r"expand more than 200 times"):
        read(tmp_path / "a.zip", cache=False)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.json.zst"])
def test_more_json_than_allowed_is_refused_with_the_cap(tmp_path, name):
    content = text(*(op(str(number)) for number in range(2000))).encode()
    packed = {"a.json": content, "a.json.gz": gzip.compress(content), "a.json.zst": zstandard.compress(content)}[name]
    (tmp_path / name).write_bytes(packed)
    with pytest.raises(TraceFormatError, match=r"more than 0\.0001 GB of JSON; raise Limits\.json_bytes"):
        read(tmp_path / name, cache=False, limits=Limits(json_bytes=100_000))


def test_too_many_members_are_refused_with_the_cap(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(*((f"{number}.json", ONE) for number in range(5))))
    with pytest.raises(TraceFormatError, match=r"more than 4 files in one place; raise Limits\.members"):
        read(tmp_path / "a.zip", cache=False, limits=Limits(members=4))
    (tmp_path / "a.tar").write_bytes(tar(*((f"{number}.json", ONE) for number in range(5))))
    assert len(read(tmp_path / "a.tar", cache=False, limits=Limits(members=4)).traces) == 4


def test_too_many_files_in_a_folder_are_refused_with_the_cap(tmp_path):
    for number in range(5):
        write(tmp_path / f"{number}.json", ONE)
    with pytest.raises(LimitExceeded, match="more than 4 files"):
        read(tmp_path, cache=False, limits=Limits(members=4))


def test_containers_nested_too_deep_are_refused_with_the_cap(tmp_path):
    content = ONE
    for _ in range(6):
        content = zipped(("a", content))
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(TraceFormatError, match=r"nested more than 4 deep; raise Limits\.nesting"):
        read(tmp_path / "a.zip", cache=False)
    (tmp_path / "b.gz").write_bytes(gzip.compress(gzip.compress(gzip.compress(ONE))))
    with pytest.raises(TraceFormatError, match="nested more than 2 deep"):
        read(tmp_path / "b.gz", cache=False, limits=Limits(nesting=2))


def test_an_encrypted_or_broken_zip_is_set_aside_with_the_reason(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped(("a.json", ONE))[:40])
    write(tmp_path / "b.json", ONE)
    recording = read(tmp_path, cache=False)
    assert len(recording.traces) == 1
    assert [each.file for each in recording.set_aside] == ["a.zip"]


def test_a_path_that_does_not_exist_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "nothing.json")


def test_an_empty_folder_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="no file was found"):
        read(tmp_path)


def test_hidden_files_are_passed_over(tmp_path):
    write(tmp_path / ".hidden.json", "no json")
    write(tmp_path / "a.json", ONE)
    assert read(tmp_path, cache=False).set_aside == ()


def test_several_paths_and_a_file_address(tmp_path):
    first, second = write(tmp_path / "rank0 a.json", text(kernel())), write(tmp_path / "rank1.json", text(kernel()))
    recording = read([first.as_uri(), second], cache=False)
    assert [trace.rank for trace in recording.traces] == [0, 1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_a_trace_at_an_address_is_fetched_and_read(server):
    pytest.importorskip("aiohttp", reason="http needs the extra `remote`")
    folder, address = server
    (folder / "rank3.json.gz").write_bytes(gzip.compress(ONE))
    (folder / "all.zip").write_bytes(zipped(("a.json", ONE)))
    (trace,) = read(f"{address}/rank3.json.gz?token=1", cache=False).traces
    assert (trace.rank, trace.name, rows(trace, "op_events", "name")) == (3, "rank3.json.gz", ["one"])
    assert names(f"{address}/all.zip") == ["one"]


def test_an_address_that_cannot_be_read_says_so(server):
    pytest.importorskip("aiohttp", reason="http needs the extra `remote`")
    with pytest.raises(InputError, match="could not be read"):
        read(f"{server[1]}/nothing.json", cache=False)


def test_a_folder_at_an_address_is_listed():
    import fsspec  # noqa: PLC0415

    system = fsspec.filesystem("memory")
    system.pipe("/run/rank0.json", ONE)
    system.pipe("/run/rank1.json", ONE)
    recording = read("memory://run", cache=False)
    assert [trace.rank for trace in recording.traces] == [0, 1]


def test_an_unknown_protocol_says_what_to_install():
    with pytest.raises(InputError, match="stepscope"):
        read("nosuch://bucket/a.json")


def test_remote_copies_stay_within_the_limit(server):
    pytest.importorskip("aiohttp", reason="http needs the extra `remote`")
    folder, address = server
    (folder / "a.json").write_bytes(ONE + b" " * 100_000)
    with pytest.raises(LimitExceeded, match="of JSON"):
        read(f"{address}/a.json", cache=False, limits=Limits(json_bytes=10_000))


def test_paths_are_used_as_given(tmp_path):
    file = write(tmp_path / "<img src=x onerror=alert(1)>.json", ONE)
    (trace,) = read(str(file), cache=False).traces
    assert trace.name == "<img src=x onerror=alert(1)>.json"
    assert Path(trace.path) == file
