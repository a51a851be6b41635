"""The 2023 study's figures and ours, as they are written."""

# ruff: noqa: RUF001 - dashes of ranges and multiplication signs are meant
from __future__ import annotations

from typing import Any

import pytest

from analyze.report.study_figures import here


def figure(value: float | None, unit: str, **more: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(("here_low", "here_high", "here_total"))
    return {**unknown, "here": value, "unit": unit, "extrapolated": unit == "h", **more}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (figure(None, "W"), "not measured"),
        (figure(177.2, "W", here_total=700.0), "177 of 700 W"),
        (figure(177.2, "W"), "177 W"),
        (figure(1.0722, "h", here_low=1.0241, here_high=1.1198), "64 min (61–67), extrapolated"),
        # an end in hours, the other in minutes
        (figure(2.0, "h", here_low=1.9, here_high=2.1), "2.0 h (114 min – 2.1 h), extrapolated"),
        (figure(21.09, "×", here_low=19.85, here_high=22.44), "21.1 × (19.9–22.4)"),
        (figure(0.0058, "s"), "5.80 ms"),
        (figure(2.5, "s"), "2.50 s"),
    ],
)
def test_ours_is_written_with_its_interval_and_what_it_is_a_part_of(row: dict[str, Any], text: str) -> None:
    assert here(row) == text
