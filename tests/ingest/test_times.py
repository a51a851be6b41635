"""Times: exact, absolute where the file says so, and kept apart where they cannot be true."""

from __future__ import annotations

from datetime import datetime, timezone

import polars as pl
import pytest

from tests.ingest.traces import HEADER, count, first_byte, kernel, only, op, quality, rows, text, write


def test_kernels_at_time_zero_are_kept_apart(tmp_path):
    events = kernel(ts="1615207264505000", dur="6"), kernel(ts="0", dur="0"), kernel(ts="1615207264505100", dur="4")
    file = write(tmp_path / "a.json", text(*events))
    trace = only(file)
    spans = rows(trace, "device_events", "start_ns", "dur_ns")
    assert max(start + dur for start, dur in spans) - min(start for start, _ in spans) == 104_000
    assert rows(trace, "quarantine", "start_ns", "cause") == [(0, "zero-timestamp")]
    assert quality(trace)["zero-timestamp"] == 1
    assert first_byte(trace, "zero-timestamp") == file.read_text().index(events[1])


def test_time_zero_is_fine_where_the_clock_starts_there(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op(ts="0"), op(ts="5"))))
    assert rows(trace, "op_events", "start_ns") == [0, 5_000]
    assert "zero-timestamp" not in quality(trace)


def test_unfinished_and_overflowing_durations_enter_no_sum(tmp_path):
    events = op(dur="10"), op("open", dur="-1"), op("overflow", dur="9223372036854.775")
    trace = only(write(tmp_path / "a.json", text(*events)))
    assert trace.frames["op_events"].select(pl.col("dur_ns").sum()).collect().item() == 10_000
    assert rows(trace, "op_events", "name", "dur_ns") == [("aten::add", 10_000), ("open", None)]
    assert rows(trace, "quarantine", "name", "dur_ns") == [("overflow", 9_223_372_036_854_775)]
    assert quality(trace) == {"unfinished": 1, "implausible-duration": 1}
    end = pl.from_epoch(pl.col("start_ns") + pl.col("dur_ns"), time_unit="ns")
    assert trace.frames["quarantine"].select(end).collect().height == 1


def test_a_duration_beyond_int64_is_null_and_counted(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op(dur="1e30"), op(ts="1e40"), op())))
    assert rows(trace, "op_events", "dur_ns") == [None, 1_000]
    assert quality(trace) == {"untyped-cell": 2, "missing-timestamp": 1}


def test_an_end_stamp_of_zero_never_makes_a_negative_sum(tmp_path):
    start = "1615207264505000"
    trace = only(write(tmp_path / "a.json", text(op(ts=start, dur=f"-{start}"), op(ts=start, dur="2"))))
    assert rows(trace, "op_events", "dur_ns") == [2_000]
    assert rows(trace, "quarantine", "cause") == ["negative-duration"]


def test_an_unfinished_kernel_is_kept_apart(tmp_path):
    trace = only(write(tmp_path / "a.json", text(kernel(dur="-1"), kernel())))
    assert count(trace) == 1
    assert rows(trace, "quarantine", "cause", "dur_ns") == [("unfinished", None)]


def test_a_timed_event_without_a_start_is_kept_apart(tmp_path):
    nameless = '{"ph": "X", "cat": "cpu_op", "name": "lost", "dur": 5}'
    trace = only(write(tmp_path / "a.json", text(op(), nameless)))
    assert rows(trace, "quarantine", "name", "cause") == [("lost", "missing-timestamp")]


def test_markers_far_away_do_not_stretch_the_trace(tmp_path):
    two_days_later = str(1615207264505000 + 2 * 86_400 * 1_000_000)
    marker = f'{{"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "s": "g", "ts": {two_days_later}}}'
    trace = only(write(tmp_path / "a.json", text(kernel(ts="1615207264505000"), marker)))
    assert count(trace) == 1
    assert rows(trace, "quarantine", "name", "cause") == [("Record Window End", "implausible-timestamp")]


@pytest.mark.parametrize("unit", ['"displayTimeUnit": "ms",', '"displayTimeUnit": "ns",', ""])
def test_the_display_unit_does_not_change_any_time(tmp_path, unit):
    header = '{"schemaVersion": 1,' + unit
    trace = only(write(tmp_path / "a.json", text(op(ts="1236", dur="13837451"), header=header)))
    assert rows(trace, "op_events", "start_ns", "dur_ns") == [(1_236_000, 13_837_451_000)]


BASE = '"baseTimeNanoseconds": 1759300074000000000'


@pytest.mark.parametrize(
    ("header", "tail"),
    [(f"{HEADER} {BASE},", "]}"), (HEADER, f"], {BASE}}}")],
    ids=["before the events", "after the events"],
)
def test_the_base_time_makes_times_absolute_wherever_it_stands(tmp_path, header, tail):
    event = op(ts="2493828094901.425")
    trace = only(write(tmp_path / "a.json", text(event, header=header, tail=tail)))
    (start,) = rows(trace, "op_events", "start_ns")
    assert start == 1_761_793_902_094_901_425
    assert datetime.fromtimestamp(start // 10**9, timezone.utc).isoformat() == "2025-10-30T03:11:42+00:00"
    assert trace.info.time_is_absolute
    assert trace.info.base_time_ns == 1_759_300_074_000_000_000


def test_without_a_base_microseconds_of_unix_time_are_absolute(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op(ts="1708722576381804"))))
    assert rows(trace, "op_events", "start_ns") == [1_708_722_576_381_804_000]
    assert trace.info.time_is_absolute
    assert trace.info.base_time_ns is None


def test_without_a_base_small_times_are_relative(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op(ts="5"))))
    assert not trace.info.time_is_absolute


def test_a_base_beside_absolute_times_is_not_added_twice(tmp_path):
    header = f"{HEADER} {BASE},"
    trace = only(write(tmp_path / "a.json", text(op(ts="1761793902094901"), header=header)))
    assert rows(trace, "op_events", "start_ns") == [1_761_793_902_094_901_000]
    assert trace.info.time_is_absolute
    assert quality(trace) == {"base-time-ignored": 1}


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("0.001", 1),
        ("2493828094901.425", 2_493_828_094_901_425),
        ("1761793902094901.999", 1_761_793_902_094_901_999),
        ("12", 12_000),
        ("-3.5", -3_500),
        ("1.5e3", 1_500_000),
        ('"17.25"', 17_250),
        ("1.0004", 1_000),
        ("1.0006", 1_001),
    ],
)
def test_every_spelling_of_a_time_is_exact(tmp_path, digits, expected):
    trace = only(write(tmp_path / "a.json", text(op(ts=digits, dur="1"), op("other", ts="7.125"))))
    found = rows(trace, "op_events", "start_ns") + rows(trace, "quarantine", "start_ns")
    assert found == [expected, 7_125]


@pytest.mark.parametrize(
    ("digits", "expected"),
    [("0.001", 1), ("8796093022207.999", None), ("4398046511103.997", None), ('"2.5"', 2_500), ("3", 3_000)],
)
def test_every_spelling_of_a_duration_is_exact(tmp_path, digits, expected):
    trace = only(write(tmp_path / "a.json", text(op(dur=digits), op(dur="0.999"))))
    found = rows(trace, "op_events", "dur_ns")
    if expected is None:  # longer than a day: kept apart, still exact
        whole, fraction = digits.split(".")
        assert rows(trace, "quarantine", "dur_ns") == [int(whole) * 1000 + int(fraction)]
    else:
        assert found == [expected, 999]
