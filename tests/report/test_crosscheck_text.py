"""The second opinion as text and as JSON, on made-up rows."""

from __future__ import annotations

import json

import polars as pl

from analyze.crosscheck import COLUMNS
from analyze.report import crosscheck_text

ROWS = pl.DataFrame(
    [
        ("overlap", 0, "hidden", "%", 14.76, 14.31, 0.0314, False, "HTA rounds to whole microseconds"),
        ("kernels", None, "gemm <b>", "us", 95.0, 95.0, 0.0, True, None),
        ("kernels", 0, "odd", "us", 3.0, None, None, False, None),
    ],
    schema={column.name: column.dtype for column in COLUMNS},
    orient="row",
)


def text(width: int = 80) -> list[str]:
    return ["".join(part for part, _ in line) for line in crosscheck_text.lines(ROWS, width)]


def test_equal_rows_are_counted_and_open_ones_come_first() -> None:
    assert text() == [
        "3 figures of both tools: 1 equal within 0.1 %, 1 explained, 1 not explained",
        "rank  figure               ours   HTA    differs",
        "0     kernels: odd [us]    3      -      -",
        "      not explained",
        "0     overlap: hidden [%]  14.76  14.31  +3.1%",
        "      HTA rounds to whole microseconds",
    ]


def test_lines_fit_the_terminal() -> None:
    assert max(map(len, text(40)[1:])) <= 40


def test_where_all_agree_there_is_no_table() -> None:
    agreed = ROWS.filter("agrees")
    assert len(crosscheck_text.lines(agreed, 80)) == 1


def test_json_holds_every_row() -> None:
    document = json.loads(crosscheck_text.render(ROWS))
    assert [row["name"] for row in document["rows"]] == ["hidden", "gemm <b>", "odd"]
    assert document["rows"][2]["hta"] is None
