from __future__ import annotations

import pytest

from analyze.errors import MissingData
from analyze.tables.cpu_ops import cpu_ops
from tests.builders import family, on_thread, step, table


def test_parents_depth_and_self_time():
    ops = [
        on_thread(0, 100, "aten::linear", id=1),
        on_thread(10, 60, "aten::addmm", id=2),
        on_thread(20, 30, "aten::empty", id=3),
        on_thread(70, 90, "aten::view", id=4),
    ]
    table_ = cpu_ops(family("op_events", *ops)).sort("id")
    assert table_.select("parent_id", "depth", "self_ns").rows() == [(None, 0, 30), (1, 1, 40), (2, 2, 10), (1, 1, 20)]


def test_self_time_of_all_adds_up_to_the_roots():
    ops = [on_thread(0, 100, "a"), on_thread(10, 60, "b"), on_thread(20, 30, "c"), on_thread(200, 230, "d")]
    assert cpu_ops(family("op_events", *ops))["self_ns"].sum() == 130


def test_children_that_outlast_their_parent_by_rounding_leave_no_negative_self_time():
    ops = [on_thread(0, 100_000, "parent"), on_thread(0, 50_450, "child"), on_thread(50_450, 100_900, "child")]
    table_ = cpu_ops(family("op_events", *ops)).sort("id")
    assert table_["self_ns"].to_list() == [0, 50_450, 50_450]
    assert table_["parent_id"].to_list() == [None, 0, 0]


def test_a_child_that_ends_a_nanosecond_late_stays_a_child_with_its_own_duration():
    ops = [on_thread(1_000_000, 1_500_000, "parent"), on_thread(1_200_100, 1_500_001, "child")]
    table_ = cpu_ops(family("op_events", *ops))
    assert table_.select("parent_id", "dur_ns").rows() == [(None, 500_000), (0, 299_901)]


def test_threads_and_processes_do_not_nest_in_one_another():
    ops = [on_thread(0, 100, "a"), on_thread(10, 20, "b", thread="2"), on_thread(10, 20, "c", process="2")]
    assert cpu_ops(family("op_events", *ops))["parent_id"].to_list() == [None, None, None]


def test_shapes_are_kept_and_unrecorded_ones_null():
    ops = [on_thread(0, 10, "aten::mm", input_dims="[[2,3],[3,4]]"), on_thread(10, 20, "aten::mm")]
    assert cpu_ops(family("op_events", *ops))["input_shapes"].to_list() == ["[[2,3],[3,4]]", None]


def test_the_step_is_the_one_in_which_the_operator_began():
    ops = [on_thread(90, 120, "a"), on_thread(250, 260, "b")]
    assert cpu_ops(family("op_events", *ops), table("steps", step(3, 0, 100)))["step"].to_list() == [3, None]


def test_operators_that_never_ended_are_left_out():
    ops = [on_thread(0, 10, "a"), on_thread(5, 5, "b") | {"dur_ns": None}]
    assert cpu_ops(family("op_events", *ops))["name"].to_list() == ["a"]
    with pytest.raises(MissingData, match="no host operators"):
        cpu_ops(family("op_events", ops[1]))
