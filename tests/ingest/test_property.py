"""Arbitrary events in every layout, whole, cut and damaged, against `json` with `Decimal`."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from analyze.ingest import read
from tests.ingest.traces import TIMED, quality

FAMILY = {"kernel": "device_events", "cpu_op": "op_events", "cuda_runtime": "runtime_events", "odd cat": "other_events"}
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

#: any text, and the characters that break writers and readers
texts = st.text(
    st.one_of(st.characters(exclude_categories=["Cs", "Cc"]), st.sampled_from('"\\{}[],: \n\té𝄞')), min_size=1, max_size=12
)
lanes = st.one_of(st.integers(-1, 2**70), texts)
microseconds = st.one_of(
    st.integers(0, 10**9).map(str),
    st.tuples(st.integers(0, 10**9), st.integers(0, 999)).map(lambda pair: f"{pair[0]}.{pair[1]:03}"),
    st.tuples(st.integers(0, 10**9), st.integers(0, 9)).map(lambda pair: f"{pair[0]}.{pair[1]}"),
)
scalars = st.one_of(st.integers(-(2**63), 2**63 - 1), texts, st.booleans(), st.none())
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2), max_leaves=5
)
arguments = st.fixed_dictionaries(
    {},
    optional={
        "External id": st.integers(0, 2**63 - 1),
        "correlation": st.integers(1, 2**40),
        "Input Dims": st.lists(st.lists(st.integers(0, 9), max_size=2), max_size=2),
        "name": values,
        "list": st.lists(st.fixed_dictionaries({"name": texts, "ts": st.integers(0, 9)}), max_size=3),
    },
)
events = st.fixed_dictionaries(
    {
        "ph": st.just("X"),
        "cat": st.sampled_from(list(FAMILY)),
        "name": texts,
        "pid": lanes,
        "tid": lanes,
        "ts": microseconds,
        "dur": microseconds,
    },
    optional={"args": arguments},
)
traces = st.lists(events, min_size=1, max_size=12)
layouts = st.sampled_from(["kineto", "compact", "indented", "bare list"])


def written(event: dict, layout: str) -> str:
    """The event's text, arguments last as every writer has them; times are numbers with exactly their digits."""
    event = {key: event[key] for key in sorted(event, key=lambda key: key == "args")}
    separators = (",", ":") if layout == "compact" else (", ", ": ")
    parts = [
        f"{json.dumps(key)}{separators[1]}{value if key in ('ts', 'dur') else json.dumps(value, separators=separators, ensure_ascii=layout != 'kineto')}"
        for key, value in event.items()
    ]
    if layout == "indented":
        return "{\n    " + ",\n    ".join(parts) + "\n  }"
    return "{" + separators[0].join(parts) + "}"


def document(rows: list[str], layout: str) -> tuple[str, str]:
    """What stands before and after the events."""
    if layout == "bare list":
        return "[", "]"
    header = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "n": len(rows)})[:-1]
    return f'{header}, "traceEvents": [', '], "traceName": "x"}'


def loaded(content: bytes, *, compressed: bool):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        path.write_bytes(gzip.compress(content, 1) if compressed else content)
        (trace,) = read(path, cache=False).traces
        frames = {family: trace.frames[family].collect() for family in (*TIMED, "quarantine")}
    return trace, frames


def shown(frames: dict[str, pl.DataFrame]) -> dict[int, tuple]:
    """(family, name, lanes, times) of every event by its position."""
    result = {}
    for family, frame in frames.items():
        text = pl.col("name", "process", "thread").cast(pl.String)
        for row in frame.select("id", text, "start_ns", "dur_ns").rows():
            result[row[0]] = (family, *row[1:])
    return result


def expected(event: dict) -> tuple:
    lane = [None if event[key] is None else str(event[key]) for key in ("pid", "tid")]
    times = [int(Decimal(event[key]) * 1000) for key in ("ts", "dur")]
    return (FAMILY[event["cat"]], event["name"], *lane, *times)


@QUICK
@given(traces, layouts, st.booleans())
def test_whole_files_are_read_exactly(rows, layout, compressed):
    before, after = document(rows, layout)
    content = before + ",\n".join(written(row, layout) for row in rows) + after
    trace, frames = loaded(content.encode(), compressed=compressed)
    assert shown(frames) == {position: expected(row) for position, row in enumerate(rows)}
    assert not {"truncated", "dropped-event", "repaired-event", "untyped-cell"} & quality(trace).keys()


@QUICK
@given(traces, layouts)
def test_arguments_are_read_exactly(rows, layout):
    before, after = document(rows, layout)
    content = before + ",\n".join(written(row, layout) for row in rows) + after
    parsed = json.loads(content, parse_float=Decimal)
    _, frames = loaded(content.encode(), compressed=False)
    given_events = parsed if isinstance(parsed, list) else parsed["traceEvents"]
    for family, column, key in (("op_events", "external_id", "External id"), ("device_events", "correlation", "correlation")):
        for position, value in frames[family].select("id", column).rows():
            assert value == given_events[position].get("args", {}).get(key)
    for position, value in frames["op_events"].select("id", pl.col("input_dims").cast(pl.String)).rows():
        dims = given_events[position].get("args", {}).get("Input Dims")
        assert (None if value is None else json.loads(value)) == dims


@QUICK
@given(traces, layouts, st.floats(0, 1), st.booleans())
def test_files_cut_anywhere_give_every_complete_event(rows, layout, share, compressed):
    before, after = document(rows, layout)
    texts_of_rows = [written(row, layout) for row in rows]
    content = (before + ",\n".join(texts_of_rows) + after).encode()
    cut = len(before.encode()) + round(share * (len(content) - len(before.encode())))
    ends, at = [], len(before.encode())
    for text in texts_of_rows:
        at += len(text.encode())
        ends.append(at)
        at += len(b",\n")
    complete = sum(end <= cut for end in ends)
    assume(complete or layout != "bare list")  # nothing then shows that it is a trace
    _, frames = loaded(content[:cut], compressed=compressed)
    assert shown(frames) == {position: expected(row) for position, row in enumerate(rows[:complete])}


@QUICK
@given(traces, layouts, st.data())
def test_one_damaged_event_costs_no_other(rows, layout, data):
    hurt = data.draw(st.integers(0, len(rows) - 1))
    damage = data.draw(st.sampled_from(["quote", "control", "bytes", "word", "comma"]))
    before, after = document(rows, layout)
    marked = [dict(row, name="MARK") if position == hurt else row for position, row in enumerate(rows)]
    content = (before + ",\n".join(written(row, layout) for row in marked) + after).encode()
    harm = {
        "quote": b'a "quoted" name',
        "control": b"a \x01\x00 name",
        "bytes": b"a \xff\xfe name",
        "word": b"MARK",
        "comma": b"MARK",
    }
    content = content.replace(b"MARK", harm[damage], 1)
    if damage == "word":
        colon = content.index(b"MARK") + len(b"MARK") + 1
        content = content[:colon] + b', "x": nan' + content[colon:]
    if damage == "comma":
        content = content.replace(b",\n", b"\n", 1) if layout != "indented" else content
    trace, frames = loaded(content, compressed=False)
    found = shown(frames)
    for position, row in enumerate(rows):
        if position != hurt:
            assert found[position] == expected(row)
    assert trace.info.event_count == len(rows)
