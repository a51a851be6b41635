"""Rows of a page, and CSV that a spreadsheet takes for what it is."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest

from analyze.report.table_rows import Page, csv_text, rows

FRAME = pl.DataFrame({"id": [1, 2, 3, 4], "name": ["a.b", "axb", None, "C"], "ms": [2.0, None, 1.0, 3.0]})


def cells(frame: pl.DataFrame) -> list[list[str]]:
    return list(csv.reader(io.StringIO(csv_text(frame))))


def test_a_page_is_cut_from_what_matches_and_that_is_counted() -> None:
    count, page = rows(FRAME, Page(offset=1, limit=2))
    assert (count, page["id"].to_list()) == (4, [2, 3])
    assert rows(FRAME, Page(offset=99))[1].height == 0


def test_unknown_values_sort_last_either_way() -> None:
    assert rows(FRAME, Page(sort_by="ms"))[1]["id"].to_list() == [4, 1, 3, 2]
    assert rows(FRAME, Page(sort_by="ms", descending=False))[1]["id"].to_list() == [3, 1, 4, 2]


@pytest.mark.parametrize(("text", "found"), [("a.b", [1]), ("c", [4]), ("A", [1, 2]), ("[", []), ("", [1, 2, 3, 4])])
def test_text_is_looked_for_literally_whatever_its_case(text: str, found: list[int]) -> None:
    assert rows(FRAME, Page(containing=text))[1]["id"].to_list() == found


def test_names_coded_as_categories_are_searched_too() -> None:
    coded = FRAME.with_columns(pl.col("name").cast(pl.Categorical))
    assert rows(coded, Page(containing="axb"))[0] == 1


@pytest.mark.parametrize("start", ["=cmd()", "+1+cmd()", "-2+cmd()", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_a_spreadsheet_would_execute_gets_an_apostrophe(start: str) -> None:
    frame = pl.DataFrame({"name": [start]}, schema={"name": pl.String})
    for coded in (frame, frame.with_columns(pl.col("name").cast(pl.Categorical))):
        assert csv_text(coded).removeprefix("name\n").strip('"\n').startswith("'" + start[0])


@pytest.mark.parametrize("text", ["plain", "a=b", "-1.5", "+3e-4", "x-y", "\u2212 1", ""])
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert cells(pl.DataFrame({"name": [text], "more": ["x"]}))[1][0] == text


def test_a_column_may_be_named_like_a_formula() -> None:
    assert cells(pl.DataFrame({"=cmd()": [1]}))[0] == ["'=cmd()"]


def test_numbers_nulls_and_times_are_exact() -> None:
    frame = pl.DataFrame({"start_ns": [1_764_625_385_123_456_789, None], "dur_ns": [-5, 0]})
    assert cells(frame) == [["start_ns", "dur_ns"], ["1764625385123456789", "-5"], ["", "0"]]


def test_lists_and_structs_are_text() -> None:
    frame = pl.DataFrame({"shape": [[2, 3], []], "more": [{"a": "=x"}, {"a": "y"}]})
    assert cells(frame)[1:] == [["[2, 3]", '{"a":"=x"}'], ["[]", '{"a":"y"}']]
