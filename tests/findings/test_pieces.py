"""Operators that cut and join around a loop are found, and the time in which joined pieces are freed."""

from __future__ import annotations

import pytest

from analyze.findings.pieces import freeing, longer_than_peers, splits_and_joins
from tests.builders import operator, table


def ops(*rows: tuple[int, int, str]):
    return table("cpu_ops", *(operator(start, end, name, depth=0, step=0) for start, end, name in rows))


def loop(start: int, end: int, thread: str = "1"):
    return table("cpu_ops", operator(start, end, "", thread=thread, step=0)).select(
        "process", "thread", "step", "start_ns", "dur_ns"
    )


def spans(frame) -> list[tuple[int, int]]:
    return frame.select("start_ns", "dur_ns").rows()


class TestSplitsAndJoins:
    def test_just_before_and_just_after(self) -> None:
        found = ops((0, 90, "aten::unbind"), (100, 150, "aten::mul"), (150, 200, "aten::mul"), (210, 300, "aten::stack"))
        splits, joins = splits_and_joins(loop(100, 200), found)
        assert (spans(splits), spans(joins)) == ([(0, 90)], [(210, 90)])

    def test_other_neighbours_stay(self) -> None:
        found = ops((0, 90, "aten::rand"), (100, 200, "aten::mul"), (210, 300, "aten::linear"))
        splits, joins = splits_and_joins(loop(100, 200), found)
        assert (splits.height, joins.height) == (0, 0)

    def test_what_lies_further_off_is_not_of_this_loop(self) -> None:
        found = ops(
            (0, 40, "aten::unbind"), (50, 90, "aten::relu"), (100, 200, "aten::mul"),
            (210, 250, "aten::relu"), (260, 300, "aten::cat"),
        )  # fmt: skip
        splits, joins = splits_and_joins(loop(100, 200), found)
        assert (splits.height, joins.height) == (0, 0)

    def test_another_thread_is_not_a_neighbour(self) -> None:
        splits, joins = splits_and_joins(loop(100, 200, "2"), ops((0, 90, "aten::unbind"), (210, 300, "aten::stack")))
        assert (splits.height, joins.height) == (0, 0)


class TestFreeing:
    #: gaps of 10, 10 and 300 between operators
    OPS = ops((0, 90, "aten::mul"), (100, 190, "aten::mul"), (200, 300, "aten::stack"), (600, 700, "aten::linear"))

    def test_until_the_next_operator_less_the_usual_gap(self) -> None:
        joins = self.OPS.filter(self.OPS["name"].cast(str) == "aten::stack")
        assert [ends.tolist() for ends in freeing(joins, self.OPS, 290)] == [[300], [590]]

    def test_what_takes_longer_than_making_the_pieces_is_something_else(self) -> None:
        joins = self.OPS.filter(self.OPS["name"].cast(str) == "aten::stack")
        assert freeing(joins, self.OPS, 289)[0].size == 0

    def test_nothing_where_the_gap_is_the_usual_one(self) -> None:
        assert freeing(self.OPS.head(1), self.OPS, 1_000)[0].size == 0

    @pytest.mark.parametrize("known", [True, False])
    def test_nothing_after_the_last_operator_or_without_operators(self, known: bool) -> None:
        assert freeing(self.OPS.tail(1), self.OPS if known else None, 1_000)[0].size == 0


class TestLongerThanPeers:
    def test_the_excess_over_the_slowest_peer(self) -> None:
        """The first linear, behind the join, takes 400; the others 100 and 150: from 460 on it is longer than both."""
        found = ops(
            (100, 200, "aten::mul"), (210, 300, "aten::stack"), (310, 710, "aten::linear"),
            (720, 820, "aten::linear"), (830, 980, "aten::linear"),
        )  # fmt: skip
        assert [ends.tolist() for ends in longer_than_peers(loop(100, 200), found)] == [[460], [710]]

    def test_nothing_where_it_is_no_longer(self) -> None:
        found = ops((100, 200, "aten::mul"), (310, 400, "aten::linear"), (410, 510, "aten::linear"))
        assert longer_than_peers(loop(100, 200), found)[0].size == 0

    def test_nothing_without_a_peer_or_after_the_last_operator(self) -> None:
        assert longer_than_peers(loop(100, 200), ops((310, 700, "aten::linear"), (710, 720, "aten::relu")))[0].size == 0
        assert longer_than_peers(loop(100, 200), ops((100, 200, "aten::linear")))[0].size == 0
