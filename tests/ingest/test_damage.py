"""Files that are no valid JSON: what is read, what is said about the rest."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from analyze.errors import TraceFormatError
from analyze.ingest import read
from tests.ingest.traces import HEADER, count, first_byte, kernel, only, op, quality, rows, text, write

COPY = (
    '{{"ph": "X", "cat": "gpu_memcpy", "name": "{name}", "pid": 0, "tid": 7, "ts": 1000, "dur": 0,'
    ' "args": {{"bytes": 200, "memory bandwidth (GB/s)": {value}}}}}'
)


def totals(trace):
    return sum(each or 0 for each in rows(trace, "op_events", "dur_ns"))


@pytest.mark.parametrize("word", ["inf", "-inf", "nan", "NaN", "Infinity", "-Infinity", "N/A"])
def test_a_bare_word_becomes_null_and_its_event_stays(tmp_path, word):
    file = write(tmp_path / "a.json", text(COPY.format(name="Memcpy HtoD", value=word)))
    trace = only(file)
    assert rows(trace, "device_events", "name", "bytes", "dur_ns") == [("Memcpy HtoD", 200, 0)]
    assert quality(trace) == {"repaired-cell": 1, "missing-correlation": 1}
    assert first_byte(trace, "repaired-cell") == file.read_bytes().index(b'{"ph"')


def test_the_same_words_inside_strings_are_left_alone(tmp_path):
    events = COPY.format(name="inf kernel", value='"inf"'), COPY.format(name="a: nan, b", value="nan")
    trace = only(write(tmp_path / "a.json", text(*events)))
    assert rows(trace, "device_events", "name") == ["inf kernel", "a: nan, b"]
    assert quality(trace)["repaired-cell"] == 1
    raw = trace.frames["raw"].collect()["text"].to_list()
    assert '"memory bandwidth (GB/s)": "inf"' in raw[0]
    assert '"memory bandwidth (GB/s)":null' in raw[1]


def test_a_counter_with_bare_words_and_a_string_timestamp_is_kept(tmp_path):
    counter = '{"ph": "C", "name": "load", "pid": 1, "ts": "1000.5", "args": {"sys": nan, "usr": nan}}'
    trace = only(write(tmp_path / "a.json", text(op(), counter)))
    assert rows(trace, "other_events", "name", "phase", "start_ns") == [("load", "C", 1_000_500)]
    assert quality(trace) == {"repaired-cell": 2}


LONE = (
    r"torch\cuda\__init__.py(219): f",
    r"torch\nn\functional.py(3): g",
    r"C:\temp\run.py(1): h",
    r"D:\users\b.py(2): k",
)


def test_unescaped_backslashes_are_taken_literally_in_the_whole_file(tmp_path):
    trace = only(write(tmp_path / "a.json", text(*(op(name) for name in LONE))))
    assert rows(trace, "op_events", "name") == list(LONE)


def test_names_read_before_the_first_illegal_escape_are_literal_too(tmp_path):
    events = [op(LONE[2]) for _ in range(60_000)] + [op(LONE[0])]
    trace = only(write(tmp_path / "a.json.gz", text(*events)))
    assert trace.frames["op_events"].select(pl.col("name").unique().cast(pl.String)).collect()["name"].sort().to_list() == [
        LONE[2],
        LONE[0],
    ]


def test_properly_escaped_backslashes_come_out_single(tmp_path):
    trace = only(write(tmp_path / "a.json", text(*(op(name.replace("\\", "\\\\")) for name in LONE))))
    assert rows(trace, "op_events", "name") == list(LONE)
    assert quality(trace) == {}


def test_control_characters_cost_one_name_and_no_event(tmp_path):
    broken = op("torch/_inductor/config.py(0): \x01\x1b\x00\n")
    trace = only(write(tmp_path / "a.json", text(op("first"), broken, op("last"))))
    assert rows(trace, "op_events", "name") == ["first", "<corrupt name>", "last"]
    assert quality(trace) == {"corrupt-name": 1, "repaired-event": 1}


def test_a_line_break_inside_a_name_is_kept(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op("import os\nrun()\n(1): <module>"), op())))
    assert rows(trace, "op_events", "name") == ["import os\nrun()\n(1): <module>", "aten::add"]


def test_unescaped_quotes_in_a_name_cost_no_other_event(tmp_path):
    damaged = op('{"device": "cpu", "dtype": "float32"}(12): run', dur="8")
    trace = only(write(tmp_path / "a.json", text(op(dur="1"), damaged, op(dur="2"), op(dur="4"))))
    assert totals(trace) == 15_000
    assert rows(trace, "op_events", "name")[1] == '{"device": "cpu", "dtype": "float32"}(12): run'
    assert quality(trace) == {"repaired-event": 1}


def test_an_event_beyond_repair_is_dropped_alone_and_counted(tmp_path):
    content = text(op(dur="1"), '{"ph": "X", "cat": "cpu_op", "name" "na', op(dur="2"))
    file = write(tmp_path / "a.json", content.replace('"na,', '"na},'))
    trace = only(file)
    assert totals(trace) == 3_000
    assert quality(trace) == {"dropped-event": 1}
    assert first_byte(trace, "dropped-event") is not None


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_bytes_that_are_no_utf8_are_replaced_and_counted(tmp_path, name):
    content = text(op("first"), op("bad XXXX name"), op("last")).encode()
    bad = content.replace(b"XXXX", b"\xfb\x75\x7d\xff")
    trace = only(write(tmp_path / name, bad))
    assert rows(trace, "op_events", "name") == ["first", "bad \ufffdu}\ufffd name", "last"]
    assert quality(trace) == {"replaced-bytes": 2}
    assert first_byte(trace, "replaced-bytes") == bad.index(b"\xfb")


def test_real_utf8_is_unchanged(tmp_path):
    names = ["умножение", "行列", "🚀 step"]
    trace = only(write(tmp_path / "a.json", text(*map(op, names))))
    assert rows(trace, "op_events", "name") == names
    assert quality(trace) == {}


def hundred() -> str:
    return text(*(op(f"op{number}", ts=f"{1000 + number}.000", dur="1234") for number in range(100)))


def cut_after(content: str, mark: str, number: int) -> str:
    begin = content.index(f'"op{number}"')
    return content[: content.index(mark, begin) + len(mark)]


@pytest.mark.parametrize(
    ("mark", "whole"),
    [('"op50', 50), ('"dur": 12', 50), ("},", 51), ("}", 51)],
    ids=["inside a string", "inside a number", "after a comma", "after an event"],
)
def test_a_file_cut_short_gives_all_its_complete_events(tmp_path, mark, whole):
    file = write(tmp_path / "a.json", cut_after(hundred(), mark, 50))
    trace = only(file)
    assert rows(trace, "op_events", "dur_ns") == [1_234_000] * whole
    assert trace.info.truncated
    assert set(quality(trace)) == {"truncated"}
    last_complete = file.read_bytes().rindex(b"1234}") + len(b"1234}")
    assert last_complete <= first_byte(trace, "truncated") <= last_complete + 2


def test_only_the_closing_brackets_missing_loses_nothing(tmp_path):
    trace = only(write(tmp_path / "a.json", hundred()[:-2]))
    assert count(trace) == 100
    assert trace.info.truncated


def test_an_array_may_end_without_its_bracket(tmp_path):
    trace = only(write(tmp_path / "a.json", "[" + f"{op()},{op()}" + ","))
    assert count(trace) == 2
    assert not trace.info.truncated


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_gzip_cut_short_gives_what_came_before(tmp_path, share):
    whole = gzip.compress(hundred().encode())
    file = tmp_path / "a.json.gz"
    file.write_bytes(whole[: int(len(whole) * share)])
    trace = only(file)
    names = rows(trace, "op_events", "name")
    assert names == [f"op{number}" for number in range(len(names))]
    assert trace.info.truncated
    assert "damaged-compression" in quality(trace)


def test_a_gzip_whose_checksum_is_wrong_is_read_and_said_to_be_damaged(tmp_path):
    whole = bytearray(gzip.compress(hundred().encode()))
    whole[-6] ^= 0xFF
    file = tmp_path / "a.json.gz"
    file.write_bytes(bytes(whole))
    trace = only(file)
    assert count(trace) == 100
    assert "damaged-compression" in quality(trace)


@pytest.mark.parametrize("joint", ["\n", ",,\n", ",\n,\n"])
def test_commas_missing_or_doubled_between_events_lose_nothing(tmp_path, joint):
    trace = only(write(tmp_path / "a.json", f'{HEADER} "traceEvents": [{op("a")}{joint}{op("b")},{op("c")}]}}'))
    assert rows(trace, "op_events", "name") == ["a", "b", "c"]


def test_a_trailing_comma_before_the_bracket_loses_nothing(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op("a"), op("b"), tail=",\n]}")))
    assert rows(trace, "op_events", "name") == ["a", "b"]
    assert not trace.info.truncated


def test_a_key_without_its_opening_quote_is_repaired(tmp_path):
    flow = '{"ph": "f", "name": "x", "pid": 1, tid": 0, "ts": 1000, "id": 7, "bp": "e"}'
    trace = only(write(tmp_path / "a.json", "[" + f"{op()},{flow},{op()}" + "]"))
    assert rows(trace, "flow_events", "flow_id", "thread") == [("7", "0")]
    assert count(trace) == 2


def test_elements_that_are_no_events_are_dropped_alone(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op("a"), "null", "7", op("b"), "[1, 2]", op("c"))))
    assert rows(trace, "op_events", "name") == ["a", "b", "c"]
    assert quality(trace) == {"dropped-event": 3}


def test_lists_of_objects_in_arguments_are_no_events(tmp_path):
    nested = '{"list": [{"name": 1, "ts": 2}, {"name": 3, "ts": 4}], "External id": 5}'
    trace = only(write(tmp_path / "a.json", text(op("a", args=nested), op("b}, {", args=nested), "null", op("c"))))
    assert rows(trace, "op_events", "name", "external_id") == [("a", 5), ("b}, {", 5), ("c", None)]


def test_two_writers_in_one_file_are_refused_with_that_reason(tmp_path):
    with pytest.raises(TraceFormatError, match="two writers"):
        read(write(tmp_path / "a.json", text(op()) + text(op())), cache=False)
    inside = text(op(), '{"ph": "X", "cat": "cpu_op", "na' + text(op()))
    with pytest.raises(TraceFormatError, match="two writers"):
        read(write(tmp_path / "b.json", inside), cache=False)


@pytest.mark.parametrize("content", ['{"schemaVersion": 1}', '{"a": [1, 2]}', "[1, 2, 3]", '[{"a": 1}]', "", "hello", "[[]]"])
def test_what_is_no_trace_is_refused_with_that_reason(tmp_path, content):
    with pytest.raises(TraceFormatError, match="no Chrome trace"):
        read(write(tmp_path / "a.json", content), cache=False)


def test_an_unreadable_file_does_not_cost_its_neighbours(tmp_path):
    write(tmp_path / "good.json", text(op()))
    write(tmp_path / "bad.json", '{"schema": 1}')
    recording = read(tmp_path, cache=False)
    assert [trace.name for trace in recording.traces] == ["good.json"]
    assert [(each.file, "no Chrome trace" in each.reason) for each in recording.set_aside] == [("bad.json", True)]


def test_metadata_without_events_is_an_empty_typed_trace(tmp_path):
    names = [
        f'{{"name": "{kind}", "ph": "M", "pid": 0, "tid": 0, "args": {{"name": "x"}}}}'
        for kind in ("process_name", "thread_name")
    ]
    write(tmp_path / "rank0.json", text(*names))
    write(tmp_path / "rank1.json", text(kernel()))
    empty, full = read(tmp_path, cache=False).traces
    assert count(empty) == 0
    assert quality(empty)["no-timed-events"] == 1
    assert rows(empty, "lanes", "process", "thread", "name") == [("0", None, "x"), ("0", "0", "x")]
    assert count(full) == 1


def test_unknown_top_level_keys_of_any_shape_are_kept(tmp_path):
    header = HEADER + ' "deviceProperties": [{"id": 0, "name": "A"}], "odd": [[1], {"traceEvent": 2}],'
    trace = only(write(tmp_path / "a.json", text(op(), header=header, tail='], "after": {"x": [1]}}')))
    assert trace.info.header["odd"] == [[1], {"traceEvent": 2}]
    assert trace.info.header["after"] == {"x": [1]}
    assert trace.info.devices[0].name == "A"


def test_arguments_nested_to_any_depth_are_kept_as_text(tmp_path):
    args = '{"Input Dims": [[[2,3],[4]],[],[8]], "Concrete Inputs": ["", "1"]}'
    trace = only(write(tmp_path / "a.json", text(op(args=args))))
    assert rows(trace, "op_events", "input_dims", "concrete_inputs") == [("[[[2,3],[4]],[],[8]]", '["", "1"]')]


def test_ids_of_any_size_are_never_floats(tmp_path):
    args = '{"Addr": 14933243513335727983, "Bytes": 140737488355327, "Device Type": 1}'
    memory = f'{{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 99999999999999999999999999, "ts": 1, "args": {args}}}'
    trace = only(write(tmp_path / "a.json", text(memory)))
    assert rows(trace, "memory_events", "address", "bytes", "thread") == [(None, 140737488355327, "99999999999999999999999999")]
    assert quality(trace)["untyped-cell"] == 1
    assert first_byte(trace, "untyped-cell") is not None
    assert "14933243513335727983" in trace.frames["raw"].collect()["text"][0]


def test_an_argument_of_another_type_is_null_and_counted(tmp_path):
    good, bad = '{"stream": 7, "correlation": "12"}', '{"stream": [1], "correlation": {"a": 1}}'
    trace = only(
        write(tmp_path / "a.json", text(kernel(args=good), kernel(args=bad), kernel(args='"text"'), kernel(args="null")))
    )
    assert rows(trace, "device_events", "correlation") == [12, None, None, None]
    assert quality(trace)["untyped-cell"] == 3


def test_an_unnamed_event_is_named_so_and_kept(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op(""), '{"ph": "X", "cat": "cpu_op", "ts": 1, "dur": 1, "name": null}')))
    assert rows(trace, "op_events", "name") == ["<unnamed>", "<unnamed>"]
