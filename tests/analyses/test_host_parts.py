from __future__ import annotations

import pytest

from analyze.analyses.host_parts import host_parts
from analyze.analyses.input_wait import COLUMNS
from analyze.errors import MissingData
from tests.builders import frame, on_thread, operator, span, step, table

BACKWARD = "autograd::engine::evaluate_function: MmBackward0"


def of(*arguments):
    return dict(host_parts(*arguments).rows())


def test_phases_add_up_to_the_step():
    """Two steps of 100: loading 20, forward 30, backward 25, optimizer 15, nothing 10."""
    steps, ops, labels, waits = [], [], [], []
    for turn in range(2):
        at = turn * 100
        steps.append(step(turn, at, at + 100))
        waits.append(span(at, at + 20))
        ops += [operator(at + 20, at + 50, "aten::mm"), operator(at + 50, at + 75, BACKWARD)]
        ops.append(operator(at + 80, at + 85, "aten::add_"))
        labels.append(on_thread(at + 75, at + 90, "Optimizer.step#SGD.step", on_device=False))
    found = of(table("steps", *steps), table("cpu_ops", *ops), table("annotations", *labels), frame(COLUMNS, *waits))
    assert found == {"input_wait": 20, "optimizer": 15, "backward": 25, "forward": 30, "other": 10}


def test_an_instant_belongs_to_the_first_phase_that_claims_it():
    """The loader's own operators are loading; those inside the optimizer are the optimizer's."""
    ops = table("cpu_ops", operator(0, 40, "aten::stack"), operator(50, 60, "aten::add_"))
    labels = table("annotations", on_thread(45, 65, "Optimizer.step#Adam.step", on_device=False))
    found = of(table("steps", step(0, 0, 100)), ops, labels, frame(COLUMNS, span(0, 40)))
    assert found == {"input_wait": 40, "optimizer": 20, "backward": 0, "forward": 0, "other": 40}


def test_nested_operators_and_threads_count_once():
    """A backward on another thread beside a forward: only time that no earlier phase has is forward's."""
    ops = table(
        "cpu_ops", operator(0, 50, "aten::linear"), operator(10, 40, "aten::mm", depth=1), operator(30, 80, BACKWARD, thread="2")
    )
    assert of(table("steps", step(0, 0, 100)), ops) == {
        "input_wait": 0,
        "optimizer": 0,
        "backward": 50,
        "forward": 30,
        "other": 20,
    }


def test_what_lies_outside_steps_is_left_out():
    ops = table("cpu_ops", operator(0, 50, "aten::mm"), operator(90, 130, "aten::mm"))
    assert of(table("steps", step(0, 40, 100)), ops)["forward"] == 20


def test_the_device_s_projection_of_the_optimizer_is_not_host_time():
    labels = table("annotations", on_thread(0, 50, "Optimizer.step#Adam.step", on_device=True))
    assert of(table("steps", step(0, 0, 100)), table("cpu_ops"), labels)["optimizer"] == 0


def test_without_steps_there_is_nothing_to_divide():
    with pytest.raises(MissingData, match="no steps"):
        host_parts(table("steps"), table("cpu_ops"))
