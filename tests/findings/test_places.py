"""The best place that a trace can name."""

from __future__ import annotations

import polars as pl

from analyze.findings.places import busiest_place, costliest_place, place_of, place_of_copy, with_places
from tests.builders import copy, operator, table

OPS = table(
    "cpu_ops",
    operator(0, 10, "aten::mm", id=1, input_shapes="[[8, 16], [16, 32]]"),
    operator(10, 20, "aten::add", id=2),
    operator(20, 30, "aten::mm", id=3),
    operator(30, 40, "aten::cat", id=4, input_shapes="[" + "[1024, 1024], " * 20 + "]"),
)
LINES = pl.DataFrame({"id": [1, 3], "source": ["train.py(3): step", "train.py(9): step"]})


def ids(*values: int | None) -> pl.Series:
    return pl.Series(values, dtype=pl.Int64)


class TestPlaceOf:
    def test_a_line_and_an_operator_with_its_shapes(self) -> None:
        assert place_of(1, OPS, LINES) == "train.py(3): step · aten::mm [[8, 16], [16, 32]]"

    def test_either_alone(self) -> None:
        assert place_of(2, OPS, LINES) == "aten::add"
        assert place_of(1, None, LINES) == "train.py(3): step"
        assert place_of(1, OPS) == "aten::mm [[8, 16], [16, 32]]"

    def test_long_shapes_are_cut(self) -> None:
        place = place_of(4, OPS)
        assert place.startswith("aten::cat [[1024, 1024]")
        assert place.endswith("…")
        assert len(place) < 100

    def test_unknown_is_none(self) -> None:
        assert place_of(None, OPS, LINES) is None
        assert place_of(99, OPS, LINES) is None
        assert place_of(1, None) is None

    def test_of_a_copy(self) -> None:
        copies = table("copies", copy(0, 5, id=7, op_id=2), copy(6, 9, id=8))
        assert place_of_copy(7, copies, OPS, LINES) == "aten::add"
        assert place_of_copy(8, copies, OPS, LINES) is None


class TestBusiest:
    def test_the_most_frequent_operator_and_how_many_others(self) -> None:
        assert busiest_place(ids(1, 2, 3), OPS) == "aten::mm and 1 other operators"

    def test_with_its_line(self) -> None:
        assert busiest_place(ids(1), OPS, LINES) == "train.py(3): step · aten::mm"

    def test_unknown_is_none(self) -> None:
        assert busiest_place(ids(), OPS) is None
        assert busiest_place(ids(None), OPS) is None
        assert busiest_place(ids(99), OPS) is None
        assert busiest_place(ids(1), None) is None


class TestCostliest:
    @staticmethod
    def of(*rows: tuple[int | None, int], lines: pl.DataFrame | None = None) -> str | None:
        costs = pl.DataFrame(rows, schema={"op_id": pl.Int64, "cost_ns": pl.Int64}, orient="row")
        return costliest_place(costs, OPS, lines, of="the idle time")

    def test_costs_are_summed_by_operator(self) -> None:
        """mm 30 + 30, add 40."""
        assert self.of((1, 30), (2, 40), (3, 30)) == "aten::mm (60% of the idle time)"

    def test_lines_keep_operators_apart(self) -> None:
        assert self.of((1, 30), (2, 40), (3, 30), lines=LINES) == "aten::add (40% of the idle time)"

    def test_what_no_operator_explains_counts_in_the_share(self) -> None:
        assert self.of((1, 20), (2, 10), (None, 70)) == "aten::mm (20% of the idle time)"

    def test_a_single_place_needs_no_share(self) -> None:
        assert self.of((1, 30), lines=LINES) == "train.py(3): step · aten::mm"

    def test_unknown_is_none(self) -> None:
        assert self.of() is None
        assert self.of((None, 5)) is None
        assert self.of((99, 5)) is None


class TestEvidence:
    rows = pl.DataFrame({"dur_ns": [5, 4, 3, 2], "op_id": [3, None, 2, 99]})

    def test_operators_and_lines_stand_beside_each_row(self) -> None:
        assert with_places(self.rows, OPS, LINES).rows() == [
            (5, 3, "aten::mm", "train.py(9): step"),
            (4, None, None, None),
            (3, 2, "aten::add", None),
            (2, 99, None, None),
        ]

    def test_the_columns_are_there_where_nothing_is_known(self) -> None:
        assert with_places(self.rows, None).columns == ["dur_ns", "op_id", "op", "source"]
        assert with_places(self.rows, None)["op"].null_count() == 4
