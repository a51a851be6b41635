from __future__ import annotations

from analyze.analyses.annotation_breakdown import annotation_breakdown
from tests.builders import launch, on_thread, table, work


def label(start, end, name, **more):
    return on_thread(start, end, name, on_device=False, **more)


def test_sides_are_apart_and_nested_labels_each_count_in_full():
    annotations = table(
        "annotations",
        label(0, 100, "forward"),
        label(10, 40, "block"),
        label(200, 300, "forward"),
        label(50, 400, "forward") | {"on_device": True},
    )
    found = annotation_breakdown(annotations)
    assert found.select("name", "on_device", "count", "total_ns", "device_ns").rows() == [
        ("forward", False, 2, 200, None),
        ("block", False, 1, 30, None),
        ("forward", True, 1, 350, None),
    ]


def test_device_work_is_what_the_process_launched_meanwhile_on_any_thread():
    """backward [0,100) launches through the autograd thread at 50; another process's launch at 60 is not its own."""
    annotations = table("annotations", label(0, 100, "backward"), label(200, 250, "idle"))
    launched = table("launches", launch(50, 55, id=1, thread="9"), launch(60, 65, id=2, process="2"), launch(150, 155, id=3))
    kernels = table("kernels", work(300, 340, launch_id=1), work(300, 390, launch_id=2), work(400, 410, launch_id=3))
    found = annotation_breakdown(annotations, launched, kernels)
    assert found.select("name", "device_ns", "work_count").rows() == [("backward", 40, 1), ("idle", 0, 0)]
