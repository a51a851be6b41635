from __future__ import annotations

from analyze.analyses.coverage import coverage
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import copy, family, launch, span, step, table, work

COMPLETE = TraceInfo(
    producer="kineto-cuda", rank=0, devices=(DeviceProperties(index=0),), time_is_absolute=True,
    has_shapes=True, has_stacks=True, has_memory=True, has_sync_records=True,
)  # fmt: skip


def counts(*arguments, **named):
    return dict(coverage(*arguments, **named).select("cause", "count").rows())


def test_a_complete_recording_has_nothing_to_report():
    launched = table("launches", launch(0, 5, id=1, step=1))
    kernels = table("kernels", work(9, 12, launch_id=1, step=1))
    assert counts(COMPLETE, launched, kernels, steps=table("steps", step(1, 0, 20))) == {}


def test_what_the_writer_left_out_is_named():
    bare = TraceInfo(producer="kineto-cuda")
    assert counts(bare) == {
        "shapes-missing": 1,
        "stacks-missing": 1,
        "memory-missing": 1,
        "sync-records-missing": 1,
        "device-properties-missing": 1,
        "rank-missing": 1,
        "relative-time": 1,
        "steps-missing": 1,
    }


def test_links_that_could_not_be_made_are_counted():
    launched = table(
        "launches",
        launch(0, 5, id=1, step=1),
        launch(6, 9, id=2, step=1, work_count=0),
        launch(10, 99, id=3, profiler_overhead=True),
    )
    kernels = table("kernels", work(9, 12, launch_id=1, step=1), work(20, 22))
    copies = table("copies", copy(30, 31))
    steps = table("steps", step(1, 0, 20), step(2, 20, 40))
    assert counts(COMPLETE, launched, kernels, copies, steps) == {
        "work-without-launch": 2,
        "launch-without-work": 1,
        "calls-inflated-by-profiler": 1,
        "steps-without-device-work": 1,
        "work-outside-steps": 2,
        "calls-outside-steps": 1,
    }


def test_launches_without_any_device_work_are_a_missing_side_not_an_idle_device():
    launched = table("launches", *(launch(n, n + 1, work_count=0, step=1) for n in range(5)))
    assert counts(COMPLETE, launched, steps=table("steps", step(1, 0, 20)))["device-side-missing"] == 5


def test_inferred_steps_and_implausible_times_show():
    steps = table("steps", step(1, 0, 20, inferred=True))
    bad = family("quarantine", span(0, 0, "kernel", cause="zero-timestamp"))
    assert counts(COMPLETE, steps=steps, quarantine=bad) == {"steps-inferred": 1, "implausible-times": 1}


def test_what_the_explaining_window_recorded_is_not_missing():
    explained = {name: family(name) for name in ("memory_events", "sync_events")} | {
        "op_events": family("op_events", span(0, 5, "aten::mm", input_dims="[[2, 2]]")),
        "python_events": family("python_events", span(0, 5, "train.py(3): step")),
    }
    found = counts(TraceInfo(producer="kineto-cuda"), explained=explained)
    assert {"shapes-missing", "stacks-missing"} & found.keys() == set()
    assert {"memory-missing", "sync-records-missing"} <= found.keys()
