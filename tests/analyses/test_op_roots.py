from __future__ import annotations

from analyze.analyses.op_roots import op_roots
from tests.builders import operator, table


def of(*ops):
    return {row[0]: row[1:] for row in op_roots(table("cpu_ops", *ops)).rows()}


def test_the_root_is_the_outermost_operator_around():
    found = of(
        operator(0, 50, "aten::linear", id=1),
        operator(10, 40, "aten::addmm", id=2, depth=1),
        operator(12, 20, "aten::expand", id=3, depth=2),
        operator(60, 70, "aten::relu", id=4),
    )
    assert found == {
        1: (1, "aten::linear", 0, 50),
        2: (1, "aten::linear", 0, 50),
        3: (1, "aten::linear", 0, 50),
        4: (4, "aten::relu", 60, 10),
    }


def test_threads_and_processes_have_their_own():
    found = of(
        operator(0, 50, "aten::linear", id=1),
        operator(5, 45, "aten::mm", id=2, thread="2"),
        operator(10, 20, "aten::expand", id=3, depth=1, thread="2"),
        operator(10, 20, "aten::expand", id=4, depth=1),
        operator(6, 30, "aten::add", id=5, process="2"),
    )
    assert {identity: row[0] for identity, row in found.items()} == {1: 1, 2: 2, 3: 2, 4: 1, 5: 5}


def test_no_operators_no_roots():
    assert of() == {}
