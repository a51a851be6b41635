from __future__ import annotations

import pytest

from analyze.analyses.module_summary import module_summary
from analyze.analyses.op_modules import op_modules
from analyze.analyses.op_roots import op_roots
from analyze.errors import MissingData
from tests.builders import family, marker, on_thread, operator, span, table, work

NODE = "autograd::engine::evaluate_function: AddmmBackward0"


def call(start, end, name):
    return span(start, end, name, thread="1")


CALLS = (
    call(0, 200, "train.py(3): main"),
    call(0, 100, "nn.Module: Block_0"),
    call(10, 60, "nn.Module: Linear_0"),
    call(12, 50, "torch/nn/linear.py(9): forward"),
    call(110, 150, "nn.Module: Block_1"),
)
OPS = (
    operator(20, 40, "aten::addmm", id=1, sequence_number=4, step=1),
    operator(70, 90, "aten::relu", id=2, sequence_number=5, step=1),
    operator(120, 130, "aten::add", id=5, step=1),
    operator(160, 170, "aten::item", id=6, step=1),
    operator(300, 340, NODE, id=3, sequence_number=4, thread="2", step=1),
    operator(310, 330, "aten::mm", id=4, thread="2", parent_id=3, depth=1, step=1),
)
KERNELS = table("kernels", work(400, 450, op_id=1), work(450, 460, op_id=2), work(500, 570, op_id=4), work(600, 609, op_id=6))


def summary(ops=OPS, kernels=KERNELS, **more):
    cpu_ops = table("cpu_ops", *ops)
    modules = op_modules(cpu_ops, **(more or {"python_calls": table("python_calls", *CALLS)}))
    return module_summary(modules, cpu_ops, op_roots(cpu_ops), kernels)


def test_operators_belong_to_the_innermost_module_and_backward_nodes_to_their_forward_s():
    found = op_modules(table("cpu_ops", *OPS), table("python_calls", *CALLS))
    assert sorted(found.select("id", "module", "backward").rows()) == [
        (1, "Block_0/Linear_0", False),
        (2, "Block_0", False),
        (3, "Block_0/Linear_0", True),
        (5, "Block_1", False),
    ]


def test_modules_include_those_inside_and_their_backward():
    """Linear_0: 50 forward, 70 backward, launched by an operator inside its node; Block_0 adds 10 of its own."""
    assert summary().rows() == [
        ("Block_0", 1, 40, 20, 60, 70, 3),
        ("Block_0/Linear_0", 1, 20, 20, 50, 70, 2),
        ("Block_1", 1, 10, 10, 0, 0, 0),
    ]


def test_without_a_device_only_host_times_are_known():
    found = summary(kernels=None)
    assert found.select("module", "host_ns", "forward_device_ns", "kernel_count").rows()[0] == ("Block_0", 40, None, None)


def test_stacks_of_the_explaining_window_assign_the_timed_window_s_operators():
    """Both steps of the timed window run addmm; the explained step ran it inside Linear_0."""
    explained = {
        "annotation_events": family("annotation_events", marker(9, 1_000, 2_000)),
        "op_events": family("op_events", on_thread(1_020, 1_040, "aten::addmm", id=77, sequence_number=8)),
        "python_events": family("python_events", on_thread(1_010, 1_060, "nn.Module: Linear_0")),
    }
    ops = [operator(at, at + 20, "aten::addmm", id=at, step=step) for at, step in ((10, 1), (100, 2))]
    kernels = table("kernels", work(400, 450, op_id=10), work(500, 530, op_id=100))
    assert summary(ops, kernels, explained=explained).rows() == [("Linear_0", 2, 40, 40, 80, 0, 2)]


def test_stacks_without_modules_and_no_stacks_at_all():
    with pytest.raises(MissingData, match="no modules"):
        op_modules(table("cpu_ops", *OPS), table("python_calls", CALLS[0]))
    with pytest.raises(MissingData, match="no stacks"):
        op_modules(table("cpu_ops", *OPS))
