"""How a study's numbers are written."""

from __future__ import annotations

import pytest

from analyze.study.wording import amount, cause, duration, percent, times


@pytest.mark.parametrize(
    ("hours", "text"),
    [(13.2, "13.2 h"), (130.4, "130 h"), (1.0722, "64 min"), (0.05083, "3.0 min"), (0.01, "36 s"), (2.04, "2.0 h")],
)
def test_a_duration_says_two_digits_at_least(hours: float, text: str) -> None:
    assert duration(hours) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1204.4, "1,204"), (12.44, "12.4"), (1.0, "1.00"), (0.0314, "0.0314"), (0.0608, "0.0608"), (0.0, "0"), (1.52e-9, "1.5e-09")],
)
def test_an_amount_has_three_digits_however_small(value: float, text: str) -> None:
    assert amount(value) == text


def test_shares_and_factors() -> None:
    assert (percent(0.204), percent(0.0047), percent(0.0)) == ("20 %", "0.5 %", "0 %")
    assert (times(21.09), times(8.64), times(0.5)) == ("21", "8.6", "0.5")


def test_a_cause_without_words_of_its_own_is_named_as_it_is() -> None:
    assert (cause("idle_launch"), cause("idle_page_faults")) == ("waits for launches", "idles for page faults")
