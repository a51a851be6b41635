"""The parsed-trace cache, several processes, progress and cancelling."""

from __future__ import annotations

import os
import time

import polars as pl
import psutil
import pytest

from analyze import schema
from analyze.ingest import ReadCancelled, cache, load, parse, read
from analyze.ingest.parsed import Parsed
from tests.ingest.traces import TIMED, first_byte, kernel, op, quality, rows, text, write


def all_frames(trace):
    return {family: frame.collect() for family, frame in trace.frames.items()}


def entries(folder):
    return [entry for version in folder.iterdir() for entry in version.iterdir()]


def mixed(count: int) -> str:
    events = []
    for number in range(count):
        ts = f"{1000 + number}.125"
        args = f'{{"External id": {number}, "Input Dims": [[{number % 7}, 2]]}}'
        events += [
            op(f"op{number % 50}", ts=ts, args=args),
            kernel(f"k{number % 9}", ts=ts, args=f'{{"correlation": {number + 1}}}'),
        ]
    return text(*events)


def test_a_second_read_comes_from_the_cache_and_is_equal(tmp_path, own_cache, monkeypatch):
    file = write(tmp_path / "rank1.json.gz", mixed(20))
    first = all_frames(read(file).traces[0])
    assert len(entries(own_cache)) == 1
    monkeypatch.setattr(parse.FileParser, "__init__", None)
    again = read(file).traces[0]
    for family, frame in all_frames(again).items():
        assert frame.equals(first[family]), family
    assert again.rank == 1


def test_the_key_is_the_content_and_not_the_name(tmp_path, own_cache):
    read(write(tmp_path / "rank0.json", text(op())))
    copy = read(write(tmp_path / "rank5.json", text(op()))).traces[0]
    assert len(entries(own_cache)) == 1
    assert (copy.rank, copy.name) == (5, "rank5.json")
    read(write(tmp_path / "rank5.json", text(op("other"))))
    assert len(entries(own_cache)) == 2


def test_what_was_wrong_with_a_file_is_remembered(tmp_path):
    file = write(tmp_path / "a.json", text(op(), op('a "b" c'), op(dur="-5"))[:-2])
    first, again = read(file).traces[0], read(file).traces[0]
    assert first.data_quality.equals(again.data_quality)
    assert first.info == again.info


def test_without_a_writable_folder_reading_goes_on_and_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEPSCOPE_CACHE_DIR", str(tmp_path / "file" / "below"))
    trace = read(write(tmp_path / "a.json", text(op()))).traces[0]
    assert quality(trace) == {"not-cached": 1}


def test_a_full_disk_costs_the_cache_and_not_the_trace(tmp_path, own_cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("analyze.ingest.store.write_part", full)
    trace = read(write(tmp_path / "a.json", text(op()))).traces[0]
    assert rows(trace, "op_events", "name") == ["aten::add"]
    assert quality(trace) == {"not-cached": 1}
    assert entries(own_cache) == []


def test_switched_off_it_writes_nothing(tmp_path, own_cache):
    trace = read(write(tmp_path / "a.json", text(op())), cache=False).traces[0]
    assert list(own_cache.iterdir()) == []
    assert quality(trace) == {}


def test_an_incomplete_entry_is_written_anew(tmp_path, own_cache):
    file = write(tmp_path / "a.json", text(op()))
    read(file)
    (entry,) = entries(own_cache)
    next(entry.glob("op_events*.parquet")).unlink()
    assert rows(read(file).traces[0], "op_events", "name") == ["aten::add"]
    (entry / cache.ENTRY).write_text("{half")
    assert rows(read(file).traces[0], "op_events", "name") == ["aten::add"]
    assert len(entries(own_cache)) == 1
    assert list((entry).glob("op_events*.parquet"))


def test_of_two_writers_of_one_entry_both_are_right(own_cache):
    folder = cache.cache_folder()
    assert folder is not None
    described = Parsed(
        header={}, producer="chrome", reference_ns=None, literal_backslashes=False, base_time_ns=None, time_is_absolute=False,
        events=0, events_offset=0, json_bytes=0, file_bytes=0, quality=parse.QualityLog(),
    )  # fmt: skip
    with cache.new_entry(folder) as first, cache.new_entry(folder) as second:
        assert cache.keep(first, folder, "key", described) == cache.keep(second, folder, "key", described)
    assert [entry.name for entry in entries(own_cache)] == ["key"]


def test_a_crash_leaves_nothing_that_is_taken_for_an_entry(own_cache):
    folder = cache.cache_folder()
    assert folder is not None

    def crash():
        with cache.new_entry(folder) as unfinished:
            (unfinished / "op_events.parquet").write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        crash()
    assert list(folder.iterdir()) == []


def test_the_longest_unused_go_first_when_the_cache_is_full(tmp_path):
    folder = cache.cache_folder()
    assert folder is not None
    for number in range(3):
        read(write(tmp_path / f"{number}.json", text(op(str(number)))))
    kept = []
    for age, entry in enumerate(sorted(folder.iterdir())):
        day = time.time() - 86_400 * (age + 1)
        os.utime(entry / cache.ENTRY, (day, day))
        kept.append(entry)
    size = sum(file.stat().st_size for file in kept[0].iterdir())
    crashed = folder / f"{cache.UNFINISHED}old"
    crashed.mkdir()
    os.utime(crashed, (1, 1))
    cache.prune(folder, largest_bytes=int(size * 1.5))
    assert list(folder.iterdir()) == [kept[0]]


def test_entries_in_use_are_not_deleted(tmp_path):
    folder = cache.cache_folder()
    assert folder is not None
    read(write(tmp_path / "a.json", text(op())))
    cache.prune(folder, largest_bytes=0)
    assert len(list(folder.iterdir())) == 1


def test_the_version_follows_the_schema(monkeypatch):
    before = cache.cache_folder()
    monkeypatch.setitem(schema.FAMILIES, "overhead_events", schema.FAMILIES["overhead_events"][:-1])
    assert cache.cache_folder() != before


def test_a_large_file_is_told_apart_by_samples(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FULL_HASH_BYTES", 1000)
    monkeypatch.setattr(cache, "BLOCK_BYTES", 64)
    file = write(tmp_path / "a.json", mixed(50))
    key = cache.content_key(file)
    assert cache.content_key(file) == key
    os.utime(file, (1, 1))
    assert cache.content_key(file) != key


@pytest.fixture
def small_pieces(monkeypatch):
    """Chunks and thresholds so small that a small file takes every path a large one does."""
    monkeypatch.setattr(load, "PARALLEL_BYTES", 1000)
    monkeypatch.setattr(parse, "FLUSH_BYTES", 20_000)
    monkeypatch.setattr("analyze.ingest.chunks.ChunkReader.__init__.__defaults__", (10_000,))


@pytest.mark.parametrize(
    ("processes", "name", "use_cache"),
    [(1, "a.json", False), (1, "a.json.gz", True), (3, "a.json", True), (2, "a.json.gz", False)],
)
def test_frames_are_the_same_however_many_processes_parse(tmp_path, small_pieces, processes, name, use_cache):
    file = write(tmp_path / name, mixed(1500))
    whole = all_frames(read(file, cache=False, processes=1).traces[0])
    trace = read(file, cache=use_cache, processes=processes).traces[0]
    for family, frame in all_frames(trace).items():
        assert frame.equals(whole[family]), family
    assert trace.info.event_count == 3000
    assert whole["op_events"]["id"].to_list() == list(range(0, 3000, 2))
    if use_cache:
        for family, frame in all_frames(read(file).traces[0]).items():
            assert frame.equals(whole[family]), family


def test_damage_is_counted_alike_however_many_processes_parse(tmp_path, small_pieces):
    damaged = mixed(1500).replace('"op7"', '"o"p"7"').replace("1300.125", "nan").replace("1400.125", '"x"')
    file = write(tmp_path / "a.json", damaged)
    one, three = (read(file, cache=False, processes=count).traces[0] for count in (1, 3))
    assert quality(one) == quality(three)
    assert quality(one)["repaired-event"] == 30
    assert first_byte(one, "repaired-event") == first_byte(three, "repaired-event")


def test_lone_backslashes_in_the_last_part_reach_the_first(tmp_path, small_pieces):
    content = mixed(1500).replace('"op0"', r'"C:\temp"')
    cut = content.rindex('"op49"')
    file = write(tmp_path / "a.json", content[:cut] + r'"C:\quux"' + content[cut + 6 :])
    trace = read(file, cache=False, processes=2).traces[0]
    assert rows(trace, "op_events", "name").count(r"C:\temp") == 30


def test_several_files_are_shared_among_processes(tmp_path, small_pieces):
    for rank in range(5):
        write(tmp_path / f"rank{rank}.json.gz", mixed(100 + rank))
    write(tmp_path / "rank9.json", "{}" + " " * 2000)
    recording = read(tmp_path, processes=2)
    assert [(trace.rank, trace.info.event_count) for trace in recording.traces] == [(rank, 2 * (100 + rank)) for rank in range(5)]
    assert [each.file for each in recording.set_aside] == ["rank9.json"]


def test_what_follows_the_events_is_found_in_every_split(tmp_path, small_pieces):
    filler = "x" * 40_000
    content = mixed(100)[:-2] + f'], "filler": [{{"name": "{filler}"}}, {{"name": 2}}], "distributedInfo": {{"rank": 6}}}}'
    trace = read(write(tmp_path / "a.json", content), cache=False, processes=3).traces[0]
    assert (trace.rank, trace.info.event_count) == (6, 200)


def test_what_follows_the_events_may_be_longer_than_a_chunk(tmp_path, small_pieces):
    objects = ", ".join(f'{{"name": "{number}"}}' for number in range(5000))
    content = mixed(100)[:-2] + f'], "objects": [{objects}], "distributedInfo": {{"rank": 6}}}}'
    trace = read(write(tmp_path / "a.json", content), cache=False, processes=1).traces[0]
    assert (trace.rank, len(trace.info.header["objects"]), quality(trace)) == (6, 5000, {})


def test_progress_ends_at_the_size_of_the_file_and_never_goes_back(tmp_path, small_pieces):
    file = write(tmp_path / "a.json", mixed(1500))
    for processes in (1, 2):
        seen = []
        read(file, cache=False, processes=processes, progress=seen.append)
        done = [each.bytes_done for each in seen]
        assert done == sorted(done)
        assert len(done) > (30 if processes == 1 else 1)
        assert done[-1] == file.stat().st_size == seen[-1].bytes_total


@pytest.mark.parametrize("processes", [1, 2])
def test_cancelling_works_at_once_and_leaves_nothing_behind(tmp_path, own_cache, small_pieces, monkeypatch, processes):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    file = write(tmp_path / "a.json", mixed(5000))
    begun = []

    def cancel():
        begun.append(1)
        return len(begun) > 8

    before = set(psutil.Process().children())
    with pytest.raises(ReadCancelled):
        read(file, processes=processes, cancel=cancel)
    assert set(psutil.Process().children()) <= before
    assert list((tmp_path / "temporary").iterdir()) == []
    assert entries(own_cache) == []


def test_a_worker_that_dies_is_reported_and_not_waited_for(tmp_path, small_pieces, monkeypatch):
    monkeypatch.setattr("analyze.ingest.pool.PROGRAM", "import sys; sys.exit(3)")
    write(tmp_path / "a.json", mixed(200))
    with pytest.raises(Exception, match=r"ended early|no reading process"):
        read(tmp_path / "a.json", cache=False, processes=2)


def test_temporary_parts_go_with_the_recording(tmp_path, small_pieces, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    recording = read(write(tmp_path / "a.json", mixed(1500)), cache=False, processes=1)
    assert list((tmp_path / "temporary").rglob("*.parquet"))
    assert sum(recording.traces[0].frames[family].select(pl.len()).collect().item() for family in TIMED) == 3000
    trace = recording.traces[0]
    del recording
    assert trace.frames["op_events"].collect().height == 1500
    del trace
    assert list((tmp_path / "temporary").iterdir()) == []


def test_every_family_has_exactly_its_columns(tmp_path):
    trace = read(write(tmp_path / "a.json", text(op(), kernel())), cache=False).traces[0]
    for family, columns in schema.FAMILIES.items():
        assert dict(trace.frames[family].collect_schema()) == {each.name: each.dtype for each in columns}, family


def test_the_raw_text_of_any_event_is_there(tmp_path, small_pieces):
    file = write(tmp_path / "a.json.gz", mixed(800))
    raw = read(file, cache=False, processes=1).traces[0].frames["raw"]
    (found,) = raw.filter(pl.col("id") == 1201).collect().rows()
    assert found[0] == 1201
    assert '"name": "k6"' in found[1]
    assert raw.select("id").head(3).collect()["id"].to_list() == [0, 1, 2]
