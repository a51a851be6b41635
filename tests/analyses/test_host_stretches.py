from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.timeline import Timeline

US = 1_000


def stretches(line):
    return line.workspace().get("host_stretches")


def steps(work_us=5_000, *, label=None, op=None, load=0):
    """Two steps of a kernel, host work, a kernel."""
    line = Timeline()
    for _ in range(2):
        with line.step():
            line.kernel(10)
            with line.label(label) if label else nullcontext(), line.op(op) if op else nullcontext():
                if load:
                    line.load(load)
                line.python(work_us)
            line.kernel(10)
    return line


def test_long_gaps_between_calls_longest_first():
    line = steps()
    with line.step():
        line.python(9_000)
        line.kernel(10)
    found = stretches(line)
    assert found.select("start_ns", "dur_ns", "events").rows() == [
        (10_016 * US, 9_000 * US, 1),
        (4 * US, 5_000 * US, 0),
        (5_012 * US, 5_000 * US, 0),
    ]


def test_short_gaps_are_launching():
    assert stretches(steps(999)).is_empty()


def test_what_covers_them_is_told():
    row = stretches(steps(op="aten::sort", load=2_000)).row(0, named=True)
    assert (row["dur_ns"], row["operators_ns"], row["input_wait_ns"]) == (7_000 * US, 7_000 * US, 2_000 * US)
    assert (row["longest_op_ns"], row["annotation"]) == (7_000 * US, None)
    assert row["longest_op_id"] is not None


def test_nested_operators_count_once_and_the_longest_is_named():
    line = Timeline()
    with line.step():
        line.kernel(10)
        with line.op("aten::sort"), line.op("aten::copy_"):
            line.python(1_500)
        with line.op("aten::topk"):
            line.python(3_000)
        line.kernel(10)
    row = stretches(line).row(0, named=True)
    assert (row["operators_ns"], row["longest_op_ns"]) == (4_500 * US, 3_000 * US)


def test_the_user_s_label_is_told():
    assert stretches(steps(label="metrics"))["annotation"].to_list() == ["metrics", "metrics"]


@pytest.mark.parametrize("label", ["Optimizer.step#SGD.step", "gc.collect", "stepscope.window"])
def test_labels_of_libraries_are_not(label):
    assert stretches(steps(label=label))["annotation"].to_list() == [None, None]


def test_operators_of_other_threads_do_not_cover():
    line = steps(op="aten::sort")
    for row in line.events["op_events"]:
        row["thread"] = "9"
    assert stretches(line)["operators_ns"].to_list() == [0, 0]
