from __future__ import annotations

import pytest

from analyze.analyses.module_summary import module_summary
from analyze.errors import MissingData
from tests.builders import launch, operator, span, table, work

BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0"


def call(start, end, name):
    return span(start, end, name, thread="1")


MODULES = table(
    "python_calls",
    call(0, 200, "train.py(3): main"),
    call(0, 100, "nn.Module: Block_0"),
    call(10, 60, "nn.Module: Linear_0"),
    call(12, 50, "torch/nn/linear.py(9): forward"),
    call(110, 150, "nn.Module: Block_1"),
)


def test_paths_self_time_and_what_forward_and_backward_launch():
    """Linear_0's operator has sequence number 4; its backward node runs on thread 2 and launches 70 ns."""
    ops = table(
        "cpu_ops",
        operator(20, 40, "aten::addmm", id=1, sequence_number=4),
        operator(70, 90, "aten::relu", id=2, sequence_number=5),
        operator(300, 340, BACKWARD, id=3, sequence_number=4, thread="2"),
    )
    launched = table("launches", launch(30, 32, id=10), launch(80, 82, id=11), launch(310, 312, id=12, thread="2"))
    kernels = table("kernels", work(400, 450, launch_id=10), work(450, 460, launch_id=11), work(500, 570, launch_id=12))
    assert module_summary(MODULES, ops, launched, kernels).rows() == [
        ("Block_0", 1, 100, 50, 60, 0, 2),
        ("Block_0/Linear_0", 1, 50, 50, 50, 70, 1),
        ("Block_1", 1, 40, 40, 0, 0, 0),
    ]


def test_without_a_device_only_host_times_are_known():
    found = module_summary(MODULES, table("cpu_ops", operator(20, 40, "aten::addmm")))
    assert found.select("module", "host_ns", "forward_device_ns").rows()[0] == ("Block_0", 100, None)


def test_stacks_without_modules():
    with pytest.raises(MissingData, match="modules"):
        module_summary(table("python_calls", call(0, 9, "train.py(3): main")), table("cpu_ops", operator(0, 9, "a")))
