from __future__ import annotations

import numpy as np
import pytest

from analyze.analyses.op_loops import MAX_PERIOD, op_loops, repetitions
from tests.builders import launch, operator, table, work


def found(codes):
    return repetitions(np.array(codes, dtype=np.uint32))


class TestRepetitions:
    def test_one_operator_over_and_over(self):
        assert found([7] * 40) == [(0, 40, 1)]

    def test_a_sequence_over_and_over_with_something_around_it(self):
        assert found([9, 8, *([1, 2, 3] * 32), 9]) == [(2, 98, 3)]

    def test_a_loop_that_ends_within_an_iteration_keeps_its_whole_ones(self):
        """32 times (1, 2) and one more 1."""
        ((first, last, period),) = found([*([1, 2] * 32), 1])
        assert (first, period, (last - first) // period) == (0, 2, 32)

    @pytest.mark.parametrize("codes", [[7] * 31, [1, 2] * 31, list(range(100)), []])
    def test_fewer_iterations_are_none(self, codes):
        assert found(codes) == []

    def test_the_shortest_period_wins(self):
        """(1, 1) is twice 1."""
        assert found([1] * 64) == [(0, 64, 1)]

    def test_two_loops_are_two(self):
        assert found([*([1, 2] * 32), 9, *([3] * 32)]) == [(0, 64, 2), (65, 97, 1)]

    def test_iterations_longer_than_looked_for_are_none(self):
        assert found(list(range(MAX_PERIOD + 1)) * 40) == []
        assert found(list(range(MAX_PERIOD)) * 32) == [(0, MAX_PERIOD * 32, MAX_PERIOD)]


def loop(repeats, *, step=0, waiting=False, thread="1"):
    """Operators mul and add every 10, each with a call that starts a kernel of 3."""
    ops, calls, kernels = [], [], []
    for turn in range(2 * repeats):
        at = turn * 10
        ops.append(operator(at, at + 8, ("aten::mul", "aten::add")[turn % 2], step=step, id=turn, thread=thread))
        calls.append(launch(at + 1, at + 3, id=1_000 + turn, thread=thread, blocking="stream" if waiting else "none"))
        kernels.append(work(at + 4, at + 7, launch_id=1_000 + turn))
    return table("cpu_ops", *ops), table("launches", *calls), table("kernels", *kernels)


def test_a_loop_with_what_it_launches():
    row = op_loops(*loop(40)).row(0, named=True)
    assert (row["step"], row["period"], row["repeats"], row["start_ns"], row["dur_ns"]) == (0, 2, 40, 0, 798)
    assert (row["operators"], row["first_op_id"]) == ("aten::mul, aten::add", 0)
    assert (row["launches"], row["device_ns"], row["kinds"], row["waits"]) == (80, 240, "elementwise", 0)


def test_calls_that_wait_are_counted():
    assert op_loops(*loop(40, waiting=True))["waits"].to_list() == [80]


def test_calls_of_other_threads_are_not_the_loop_s():
    ops, calls, kernels = loop(40)
    _, others, _ = loop(40, thread="2")
    row = op_loops(ops, others, kernels).row(0, named=True)
    assert (row["launches"], row["device_ns"], row["kinds"]) == (0, 0, "")
    assert op_loops(ops, calls, kernels)["launches"].to_list() == [80]


def test_a_loop_does_not_run_on_into_the_next_step():
    ops, calls, kernels = loop(40)
    halves = ops.with_columns(step=ops["id"] // 40)
    assert op_loops(halves, calls, kernels).is_empty()


def test_operators_outside_steps_and_nested_ones_are_no_loop():
    ops, calls, kernels = loop(40)
    assert op_loops(ops.with_columns(step=None).cast(ops.schema), calls, kernels).is_empty()
    assert op_loops(ops.with_columns(depth=1).cast(ops.schema), calls, kernels).is_empty()
