# ruff: noqa: RUF001 - minus signs and dashes are meant
from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyze.findings.model import Severity
from analyze.report.amounts import Scale, counted, percent, quantity, severity_of, share_of_step
from tests.reports import COPY_FINDING, MS, POWER_NOTE, STEP, SUMMARY


@pytest.mark.parametrize(
    ("mean_ms", "shown"), [(0.5, "0.500"), (4.0, "4.00"), (68.4, "68.4"), (1_210.4, "1,210"), (12_345.6, "12,346")]
)
def test_a_report_has_as_many_decimals_as_its_step_deserves(mean_ms: float, shown: str) -> None:
    scale = Scale.of(replace(SUMMARY, step_time=replace(STEP, mean_ns=mean_ms * MS)))
    assert scale.ms(mean_ms * MS) == shown


def test_small_negative_times_are_not_shown_as_minus_zero() -> None:
    assert Scale(1).ms(-0.04 * MS) == "0.0"
    assert Scale(1).ms(-0.06 * MS) == "−0.1"


def test_a_bound_that_is_not_known_is_a_question_mark() -> None:
    assert Scale(1).span(2 * MS, None) == "2.0–?"


def test_parts_are_rounded_so_that_they_add_up() -> None:
    rounded = Scale(1).adding_up({"a": 14.24 * MS, "b": 50.13 * MS, "c": 3.6 * MS, "d": 0.43 * MS})
    assert {name: round(ns / MS, 6) for name, ns in rounded.items()} == {"a": 14.3, "b": 50.1, "c": 3.6, "d": 0.4}


@given(st.lists(st.floats(min_value=-1e9, max_value=1e10), max_size=12), st.integers(min_value=0, max_value=3))
def test_printed_parts_add_up_to_the_printed_total_and_move_by_less_than_a_digit(parts: list[float], decimals: int) -> None:
    scale = Scale(decimals)
    given_parts = {str(index): ns for index, ns in enumerate(parts)}
    rounded = scale.adding_up(given_parts)
    printed = sum(round(float(scale.ms(ns).replace(",", "").replace("−", "-")) * 10**decimals) for ns in rounded.values())
    unit = MS / 10**decimals
    assert abs(printed - sum(parts) / unit) <= 0.5 + 1e-6
    assert all(abs(rounded[name] - ns) <= unit + 1e-3 for name, ns in given_parts.items())


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0%"),
        (0.0004, "0%"),
        (-0.0004, "0%"),
        (0.004, "0.4%"),
        (0.0949, "9.5%"),
        (0.1, "10%"),
        (0.7, "70%"),
        (-0.031, "−3.1%"),
        (-0.1, "−10%"),
    ],
)
def test_a_share_is_per_cent_with_a_decimal_where_it_is_small(share: float, shown: str) -> None:
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(1.234, "1.23"), (12.34, "12.3"), (935.67, "936"), (12_345.6, "12,346"), (float("inf"), "?")]
)
def test_a_quantity_has_about_three_digits(value: float, shown: str) -> None:
    assert quantity(value) == shown


def test_counts_have_a_plural() -> None:
    assert (counted(1, "step"), counted(1_200, "step")) == ("1 step", "1,200 steps")


def test_a_share_needs_a_saving_and_a_step_time() -> None:
    assert share_of_step(COPY_FINDING, STEP) == pytest.approx(48.2 / 68.4)
    assert share_of_step(COPY_FINDING, None) is None
    assert share_of_step(POWER_NOTE, STEP) is None


def test_severity_follows_the_share_unless_the_detector_says() -> None:
    assert severity_of(COPY_FINDING, STEP) is Severity.HIGH
    assert severity_of(replace(COPY_FINDING, step_saving_ns=1 * MS), STEP) is Severity.LOW
    assert severity_of(replace(COPY_FINDING, severity=Severity.LOW), STEP) is Severity.LOW
