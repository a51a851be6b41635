from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.report.plain_text import clipped, clipped_left, columns, excerpt, first_fitting, shown, wrapped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aten::conv2d", "aten::conv2d"),
        ("größe 中文 µs", "größe 中文 µs"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2028", "\\u2028"),
        ("\ud800", "\\ud800"),
        ("[bold]no markup[/bold]", "[bold]no markup[/bold]"),
    ],
)
def test_what_cannot_be_seen_is_escaped_and_the_rest_left_alone(text: str, expected: str) -> None:
    assert shown(text) == expected


@given(st.text())
def test_shown_text_has_no_control_or_invisible_character(text: str) -> None:
    assert not {unicodedata.category(char) for char in shown(text)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert columns("ab") == 2
    assert columns("中文") == 4
    assert columns("e\u0301") == 1


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("train.py", 8, "train.py"), ("train.py", 7, "train.…"), ("中文中文", 5, "中文…"), ("abc", 1, "…")],
)
def test_the_end_of_a_wide_text_is_clipped(text: str, width: int, expected: str) -> None:
    assert clipped(text, width) == expected


def test_the_beginning_is_clipped_where_the_end_says_more() -> None:
    assert clipped_left("/home/user/train.py(31)", 13) == "…train.py(31)"
    assert clipped_left("train.py", 8) == "train.py"


def test_an_excerpt_is_visible_and_says_where_it_ends() -> None:
    assert excerpt("a\nbcd", 10) == "a\\nbcd"
    assert excerpt("n" * 1_000_000, 4) == "nnn…"
    assert excerpt(12, 4) == "12"


def test_text_is_wrapped_at_spaces_and_a_long_word_where_it_must_be() -> None:
    assert wrapped("one two three", 7) == ["one two", "three"]
    assert wrapped("abcdefghij k", 4) == ["abcd", "efgh", "ij k"]
    assert wrapped("", 10) == [""]


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_no_wrapped_line_is_wider_than_asked(text: str, width: int) -> None:
    assert all(columns(line) <= width for line in wrapped(text, width))


def test_the_fullest_wording_that_fits_is_taken() -> None:
    variants = ("12 of 34 checks", "12 checks", "12")
    assert first_fitting(variants, 20) == "12 of 34 checks"
    assert first_fitting(variants, 10) == "12 checks"
    assert first_fitting(variants, 1) == "…"
