from __future__ import annotations

from analyze.analyses.op_roots import op_roots
from analyze.analyses.phases import phases
from tests.builders import launch, on_thread, operator, step, table, work

STEPS = table("steps", step(1, 0, 400))
OPS = table(
    "cpu_ops",
    operator(0, 100, "aten::linear", id=1),
    operator(10, 60, "aten::addmm", id=2, parent_id=1, depth=1),
    operator(150, 250, "autograd::engine::evaluate_function: AddmmBackward0", id=3, thread="2"),
    operator(160, 200, "aten::mm", id=4, parent_id=3, depth=1, thread="2"),
    operator(310, 340, "aten::_fused_adamw_", id=5),
)
OPTIMIZER = table("annotations", on_thread(300, 380, "Optimizer.step#AdamW.step", on_device=False))


def test_launches_follow_the_top_level_operator_around_them():
    launched = table(
        "launches",
        launch(20, 25, id=10, op_id=2, step=1),
        launch(170, 175, id=11, op_id=4, step=1, thread="2"),
        launch(320, 325, id=12, op_id=5, step=1),
        launch(360, 365, id=13, step=1),
        launch(390, 395, id=14, step=1),
    )
    kernels = table("kernels", *(work(500 + n, 500 + n + 10 * (n - 9), launch_id=n, step=1) for n in range(10, 15)))
    found = phases(STEPS, op_roots(OPS), OPTIMIZER, launched, kernels)
    assert found.rows() == [
        (1, "forward", 100, 10, 1),
        (1, "backward", 100, 20, 1),
        (1, "optimizer", 80, 30 + 40, 2),
        (1, "other", 0, 50, 1),
    ]


def test_without_a_device_the_host_s_share_stands_alone():
    found = phases(STEPS, op_roots(OPS), OPTIMIZER)
    assert found.select("phase", "host_ns", "device_ns").rows() == [
        ("forward", 100, None),
        ("backward", 100, None),
        ("optimizer", 80, None),
    ]
