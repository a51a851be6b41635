"""Arguments of operators, their own or by order from the window that was recorded with shapes."""

from __future__ import annotations

import pytest

from analyze.analyses.op_arguments import op_arguments
from analyze.errors import MissingData
from tests.builders import family, marker, on_thread, operator, table

SHAPES, TYPES = "[[4, 8], [8, 2]]", '["float", "float"]'


def explaining(*rows):
    """Families of an explaining window of one step."""
    return {"op_events": family("op_events", *rows), "annotation_events": family("annotation_events", marker(9, 0, 1_000))}


def shaped(start, name, shapes):
    return on_thread(start, start + 10, name, input_dims=shapes, input_types=TYPES)


def test_own_arguments_are_taken_as_they_are() -> None:
    ops = table("cpu_ops", operator(0, 10, "aten::mm", input_shapes=SHAPES, input_types=TYPES), operator(20, 30, "aten::add"))
    assert op_arguments(ops).select("id", "input_shapes").rows() == [(0, SHAPES)]


def test_those_of_the_explaining_window_go_by_order_within_the_step() -> None:
    ops = table(
        "cpu_ops",
        *(operator(at, at + 10, "aten::mm", step=step) for step, at in ((3, 100), (3, 200), (4, 300), (4, 400))),
    )
    other = explaining(shaped(10, "aten::mm", "[[1, 1], [1, 1]]"), shaped(50, "aten::mm", "[[2, 2], [2, 2]]"))
    found = op_arguments(ops, other)
    assert found.sort("id")["input_shapes"].cast(str).to_list() == ["[[1, 1], [1, 1]]", "[[2, 2], [2, 2]]"] * 2


def test_a_name_that_runs_another_number_of_times_is_left_out() -> None:
    ops = table("cpu_ops", operator(0, 10, "aten::mm", step=3), operator(20, 30, "aten::bmm", step=3))
    other = explaining(shaped(10, "aten::mm", SHAPES), shaped(30, "aten::mm", SHAPES), shaped(50, "aten::bmm", SHAPES))
    assert op_arguments(ops, other)["id"].to_list() == [1]


def test_operators_outside_steps_have_no_counterpart() -> None:
    other = explaining(shaped(10, "aten::mm", SHAPES))
    with pytest.raises(MissingData, match="no shapes"):
        op_arguments(table("cpu_ops", operator(0, 10, "aten::mm")), other)


def test_without_shapes_anywhere() -> None:
    with pytest.raises(MissingData, match="no shapes"):
        op_arguments(table("cpu_ops", operator(0, 10, "aten::mm", step=3)))
