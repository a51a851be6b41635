from __future__ import annotations

from analyze.analyses.copy_runs import copy_runs
from analyze.analyses.op_roots import op_roots
from tests.builders import copy, launch, operator, table


def recording(*calls):
    """Calls of 4, every 10: a kernel, or a copy (direction, bytes, memory)."""
    launched, copied = [], []
    for turn, what in enumerate(calls):
        launched.append(launch(turn * 10, turn * 10 + 4, id=turn, step=0))
        if what is not None:
            direction, size, memory = what
            more = {"direction": direction, "bytes": size, "host_memory": memory, "step": 0}
            copied.append(copy(turn * 10 + 5, turn * 10 + 8, id=100 + turn, launch_id=turn, **more))
    return table("copies", *copied), table("launches", *launched)


IN, OUT, KERNEL = ("host-to-device", 100, "pinned"), ("device-to-host", 8, "pageable"), None
COLUMNS = ("direction", "count", "bytes", "largest_bytes", "pageable", "dur_ns", "first_copy_id")


def test_a_run_ends_with_a_kernel_or_another_direction():
    found = copy_runs(*recording(IN, IN, KERNEL, IN, OUT))
    assert found.select(COLUMNS).rows() == [
        ("host-to-device", 2, 200, 100, False, 6, 100),
        ("host-to-device", 1, 100, 100, False, 3, 103),
        ("device-to-host", 1, 8, 8, True, 3, 104),
    ]
    assert found["copy_ids"].to_list() == [[100, 101], [103], [104]]


def test_its_span_and_what_lies_around_it():
    found = copy_runs(*recording(KERNEL, IN, IN, KERNEL)).row(0, named=True)
    assert (found["before_ns"], found["start_ns"], found["first_end_ns"], found["end_ns"], found["after_ns"]) == (
        4,
        10,
        14,
        24,
        30,
    )


def test_at_the_recording_s_ends_there_is_nothing_around_it():
    found = copy_runs(*recording(IN, IN)).row(0, named=True)
    assert (found["before_ns"], found["after_ns"]) == (None, None)


def test_the_span_is_that_of_the_top_level_operators():
    """The first copy's operator began at 7, the last one's ended at 29."""
    copies, launched = recording(KERNEL, IN, IN)
    ops = table(
        "cpu_ops",
        operator(7, 18, "aten::to", id=50),
        operator(8, 17, "aten::copy_", id=51, depth=1),
        operator(19, 29, "aten::to", id=52),
    )
    launched = launched.with_columns(op_id=launched["id"].replace_strict({1: 51, 2: 52}, default=None))
    found = copy_runs(copies, launched, op_roots(ops)).row(0, named=True)
    assert (found["start_ns"], found["first_end_ns"], found["end_ns"]) == (7, 18, 29)


def test_a_run_ends_with_its_step():
    copies, launched = recording(IN, IN)
    found = copy_runs(copies.with_columns(step=copies["id"] - 100), launched)
    assert found.select("step", "count").rows() == [(0, 1), (1, 1)]


def test_calls_that_start_nothing_do_not_end_a_run():
    copies, launched = recording(IN, IN)
    waiting = table("launches", launch(5, 6, "cudaStreamSynchronize", id=77, work_count=0, blocking="stream"))
    assert copy_runs(copies, launched.vstack(waiting))["count"].to_list() == [2]


def test_a_copy_without_its_call_is_in_no_run():
    copies, launched = recording(IN)
    assert copy_runs(copies.with_columns(launch_id=None).cast(copies.schema), launched).is_empty()
