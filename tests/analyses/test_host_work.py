from __future__ import annotations

from analyze.analyses.gpu_gaps import COLUMNS as GPU_GAPS
from analyze.analyses.host_work import host_work
from analyze.analyses.op_sources import COLUMNS as OP_SOURCES
from tests.builders import frame, launch, on_thread, operator, span, table


def gaps(*spans):
    return frame(GPU_GAPS, *(span(start, end, device=0, step=1) for start, end in spans))


def shares(found):
    return {(activity, name): ns for activity, name, ns in found.select("activity", "name", "idle_ns").rows()}


def test_idle_time_goes_to_the_innermost_operator():
    """Idle [0,100); outer [10,90) contains inner [20,50): 50 and 30."""
    ops = table("cpu_ops", operator(10, 90, "outer", id=1), operator(20, 50, "inner", id=2, parent_id=1, depth=1))
    found = host_work(gaps((0, 100)), cpu_ops=ops)
    assert shares(found) == {("operator", "outer"): 50, ("operator", "inner"): 30}
    assert found["idle_fraction"].to_list() == [0.5, 0.3]


def test_only_the_idle_part_of_a_span_counts():
    ops = table("cpu_ops", operator(0, 100, "outer", id=1), operator(40, 100, "inner", id=2, parent_id=1, depth=1))
    assert shares(host_work(gaps((30, 50), (200, 300)), cpu_ops=ops)) == {("operator", "outer"): 10, ("operator", "inner"): 10}


def test_python_lines_calls_and_labels_are_told_side_by_side():
    python = table(
        "python_calls",
        {"name": "train.py(12): step", "thread": "1", "start_ns": 0, "dur_ns": 100, "python_id": 1},
        {"name": "log.py(3): write", "thread": "1", "start_ns": 50, "dur_ns": 40, "python_id": 2, "python_parent_id": 1},
    )
    labels = table(
        "annotations", on_thread(0, 60, "logging", on_device=False), on_thread(0, 100, "ProfilerStep#3", on_device=False)
    )
    found = host_work(
        gaps((40, 100)), launches=table("launches", launch(90, 95, "cudaFree")), annotations=labels, python_calls=python
    )
    assert shares(found) == {
        ("python", "train.py(12): step"): 20,
        ("python", "log.py(3): write"): 40,
        ("call", "cudaFree"): 5,
        ("annotation", "logging"): 20,
    }


def test_a_device_that_never_idles_has_no_rows():
    assert host_work(gaps(), cpu_ops=table("cpu_ops", operator(0, 10, "a"))).is_empty()


def test_lines_that_ran_operators_stand_for_stacks_of_another_window():
    ops = table(
        "cpu_ops",
        operator(0, 40, "aten::add", id=1),
        operator(50, 90, "aten::mul", id=2),
        operator(60, 70, "aten::empty", id=3, parent_id=2, depth=1),
    )
    lines = frame(OP_SOURCES, {"id": 1, "source": "train.py(7): step"}, {"id": 2, "source": "train.py(7): step"})
    found = host_work(gaps((0, 100)), cpu_ops=ops, op_sources=lines)
    assert shares(found)["source", "train.py(7): step"] == 40 + 30
