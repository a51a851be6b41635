"""Columns of the compiled reader, and what it leaves to the Python reader."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyze.ingest.compiled.events import scanned
from analyze.ingest.compiled.library import FIRST_ROOM
from analyze.ingest.quality import QualityLog
from tests.ingest.test_property import layouts, traces, written

FUZZ = Path(__file__).resolve().parents[2] / "fuzz" / "fuzz_compiled.py"
specification = importlib.util.spec_from_file_location("fuzz_compiled", FUZZ)
assert specification is not None
assert specification.loader is not None
fuzz_compiled = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fuzz_compiled)

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
pytestmark = pytest.mark.usefixtures("compiled")


def columns(text: bytes) -> dict[str, list]:
    found = scanned(text)
    assert found is not None
    return {name: series.to_list() for name, series in found[0].base(QualityLog()).items()}


def test_labels_and_times_are_those_of_the_text():
    found = columns(
        b'\n  {"ph": "X", "cat": "cpu_op", "name": "a\\u0062 \\"c\\"", "pid": 7, "tid": "main",\n'
        b'   "ts": 1700000000000000.125, "dur": 3.25, "args": {}},\n  {"tid": -1, "ts": 5, "ph": "i"},\n'
    )
    assert found == {
        "name": ['ab "c"', "<unnamed>"],
        "category": ["cpu_op", None],
        "process": ["7", None],
        "thread": ["main", "-1"],
        "start_ns": [1_700_000_000_000_000_125, 5000],
        "dur_ns": [3250, None],
        "phase": ["X", "i"],
    }


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-1", -1000),
        ("1.0005", 1000),  # ties go to the even one
        ("1.0015", 1002),
        ("1.00149", 1001),
        ("1.00051", 1001),
        ("-1.0015", -1002),
        ("9200000000000000", 9_200_000_000_000_000_000),
    ],
)
def test_starts_are_exact(text, nanoseconds):
    assert columns(b'{"ph":"X","ts":%s}' % text.encode())["start_ns"] == [nanoseconds]


@pytest.mark.parametrize(
    "field",
    [
        '"ts":1e3',
        '"ts":"1"',
        '"ts":9200000000000001',
        '"ts":01',
        '"ts":1.',
        '"ts":.5',
        '"ts":-',
        '"dur":1.0005',
        '"dur":8796093022208',
        '"dur":null',
        '"pid":1.5',
        '"pid":-0',
        '"pid":1234567890123456789',
        '"tid":null',
        '"tid":true',
        '"name":5',
        '"cat":null',
        '"id":"0x1"',
        '"args":{"a":1,}',
        '"args":{"a"}',
        '"args":[1,]',
        '"args":' + "[" * 65 + "]" * 65,
        '"args":nul',
        '"args":"\\x"',
        '"args":"\\u12g4"',
        '"args":"\\ud83d\\ude00"',
        '"args":"\n"',
        '"n\\u0061me":"x"',
        '"args":{} "ts":1',
        '"args"',
        "",
    ],
)
def test_what_is_unusual_is_left_to_python(field):
    assert scanned(b'{"ph":"X",%s}' % field.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"5",
        b"{}",
        b'{"ts":1}',
        b'{"ph":"X"}{"ph":"X"}',
        b'{"ph":"X"},,{"ph":"X"}',
        b'{"ph":"X"},]',
        b'{"ph":"X"',
        b'{"ph":"X"}\0',
    ],
)
def test_what_is_no_sound_list_of_events_is_left_to_python(text):
    assert scanned(text) is None


def test_as_deep_as_it_reads():
    assert scanned(b'{"ph":"X","args":%s}' % (b"[" * 64 + b"]" * 64)) is not None


def test_the_closing_bracket_is_found():
    text = b'{"ph":"X"}\n], "traceName": "]"}'
    found = scanned(text)
    assert found is not None
    assert text[found[1] :] == b', "traceName": "]"}'
    assert scanned(b'{"ph":"X"} ,, ')[1] == -1


def test_more_distinct_texts_than_there_is_room_for_at_first():
    count = FIRST_ROOM + 5
    text = b",".join(b'{"ph":"X","name":"n%d"}' % number for number in range(count))
    assert columns(text)["name"] == [f"n{number}" for number in range(count)]


def test_events_shorter_than_usual():
    text = b",".join([b'{"ph":"X"}'] * 1000)
    assert columns(text)["phase"] == ["X"] * 1000


def test_the_last_of_equal_keys_counts():
    assert columns(b'{"ph":"B","ph":"X","ts":1,"ts":2}')["start_ns"] == [2000]


def test_either_end_is_shown_as_events():
    text = b",".join(b'{"ph":"X","ts":%d,"args":{"a":%d}}' % (number, number) for number in range(5))
    shown = scanned(text)[0].ends(2)
    assert [bytes(event.ts) for event in shown] == [b"0", b"1", b"3", b"4"]
    assert scanned(text)[0].starts(("X",)).to_list() == [0, 1000, 2000, 3000, 4000]
    assert scanned(text)[0].starts(("B",)).to_list() == []


def test_without_it_everything_is_left_to_python(request):
    request.getfixturevalue("pure_python")
    assert scanned(b'{"ph":"X"}') is None


@QUICK
@given(traces, layouts)
def test_what_it_reads_is_what_python_reads(rows, layout):
    assert fuzz_compiled.differences(",\n".join(written(row, layout) for row in rows).encode()) is None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_what_it_reads_of_damaged_text_is_what_python_reads(seed):
    assert fuzz_compiled.differences(fuzz_compiled.mutated(random.Random(seed))) is None
