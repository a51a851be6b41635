"""The Ranks page, with a run of several ranks and without."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests import reports
from tests.app.conftest import words
from tests.rank_sets import training

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamlit.testing.v1 import AppTest

    Show = Callable[..., AppTest]


def test_ranks_are_shown_beside_one_another(show: Show) -> None:
    ranks = training({0: [{"compute": 100.0}] * 3, 1: [{"host": 400.0}] * 3})
    at = show(replace(reports.gpu_report(), table=ranks.frame), "ranks")
    assert not at.exception
    said = words(at)
    for title in ("Who is slow, and in what", "Ranks by steps", "Who came when to each collective", "All ranks on one clock"):
        assert title in said
    assert at.dataframe[0].value["most_in"].to_list()[0] == "host"


def test_one_rank_says_what_to_open(show: Show) -> None:
    at = show(reports.gpu_report(), "ranks")
    assert not at.exception
    assert "open the folder that holds the traces of all of them" in words(at)
