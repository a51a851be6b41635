from __future__ import annotations

import pytest

from analyze.analyses.optimizer_time import optimizer_time
from analyze.errors import MissingData
from tests.builders import launch, on_thread, table, work


def label(start, end, name, step=None):
    return on_thread(start, end, name, on_device=False, step=step)


def test_calls_within_steps_with_what_they_launch():
    """Two steps of AdamW: 100 and 60 on the host, 3 and 1 kernels of 10."""
    annotations = table(
        "annotations",
        label(0, 100, "Optimizer.step#AdamW.step", step=1),
        label(200, 260, "Optimizer.step#AdamW.step", step=2),
        label(300, 350, "Optimizer.step#AdamW.step"),
        label(110, 120, "Optimizer.zero_grad#AdamW.zero_grad", step=1),
        label(130, 190, "forward", step=1),
    )
    calls = [10, 20, 30, 210, 310]
    launched = table("launches", *(launch(at, at + 2, id=at) for at in calls))
    kernels = table("kernels", *(work(1000 + at, 1010 + at, launch_id=at) for at in calls))
    assert optimizer_time(annotations, launched, kernels).rows() == [
        ("AdamW", "step", 2, 2, 80.0, 20.0, 2.0),
        ("AdamW", "zero_grad", 1, 1, 10.0, 0.0, 0.0),
    ]


def test_without_steps_every_call_counts_and_without_a_device_its_time_is_unknown():
    found = optimizer_time(table("annotations", label(0, 100, "Optimizer.step#SGD.step")))
    assert found.rows() == [("SGD", "step", 1, 0, 100.0, None, None)]


def test_no_labels():
    with pytest.raises(MissingData, match="optimizer"):
        optimizer_time(table("annotations", label(0, 100, "forward")))
