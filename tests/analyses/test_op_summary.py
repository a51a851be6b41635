from __future__ import annotations

from analyze.analyses.op_arguments import COLUMNS as ARGUMENTS
from analyze.analyses.op_summary import op_summary
from tests.builders import frame, launch, operator, table, work


def test_host_and_device_time_by_name_and_shapes():
    """linear [0,100) contains addmm [10,60), which launches 70 ns of kernels; another linear of another shape launches none."""
    ops = table(
        "cpu_ops",
        operator(0, 100, "aten::linear", id=1, self_ns=50, input_shapes="[[2,3]]"),
        operator(10, 60, "aten::addmm", id=2, parent_id=1, depth=1, input_shapes="[[2,3],[3,4]]"),
        operator(200, 230, "aten::linear", id=3, input_shapes="[[9,3]]"),
    )
    launched = table("launches", launch(20, 25, id=7, op_id=2))
    kernels = table("kernels", work(300, 370, launch_id=7, op_id=2))
    found = op_summary(ops, launches=launched, kernels=kernels)
    assert found.drop("calls").rows() == [
        ("aten::addmm", "[[2,3],[3,4]]", 50, 50, 70, 70, 1),
        ("aten::linear", "[[2,3]]", 100, 50, 70, 0, 0),
        ("aten::linear", "[[9,3]]", 30, 30, 0, 0, 0),
    ]


def test_on_a_run_without_a_device_device_time_is_unknown_not_zero():
    found = op_summary(table("cpu_ops", operator(0, 10, "aten::add"), operator(20, 40, "aten::add")))
    assert found.select("calls", "host_ns", "device_ns", "kernel_count").rows() == [(2, 30, None, None)]


def test_shapes_come_from_the_explaining_window_where_the_trace_has_none():
    ops = table("cpu_ops", operator(0, 10, "aten::add", id=4))
    arguments = frame(ARGUMENTS, {"id": 4, "name": "aten::add", "input_shapes": "[[5]]"})
    assert op_summary(ops, op_arguments=arguments)["input_shapes"].to_list() == ["[[5]]"]


def test_launches_on_another_thread_are_not_the_operator_s():
    ops = table("cpu_ops", operator(0, 100, "aten::add", id=1))
    launched = table("launches", launch(20, 25, id=7, thread="2"))
    found = op_summary(ops, launches=launched, kernels=table("kernels", work(300, 370, launch_id=7)))
    assert found["device_ns"].to_list() == [0]
