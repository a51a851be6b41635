"""How long a collective keeps its rank from working: only what comes after it and was ready tells."""

from __future__ import annotations

import polars as pl

from analyze.analyses.collective_calls import collective_calls
from analyze.analyses.host_collective_requests import COLUMNS as REQUESTS
from analyze.analyses.host_collective_sizes import COLUMNS as SIZES
from analyze.trace_info import TraceInfo
from tests.builders import frame, launch, operator, span, step, table, work

US = 1_000
INFO = TraceInfo(
    producer="kineto-cuda", header={"distributedInfo": {"pg_config": [{"pg_name": "0", "pg_size": 2, "ranks": [0, 1]}]}}
)
STEPS = table("steps", step(0, 0, 1_000 * US))


def _collective(start, end, ident, **more):
    times = span(start * US, end * US)
    return {"id": ident, "kind": "all-reduce", "group": "0", "device": 0, "stream": 20, "step": 0} | times | more


def _kernel(start, end, ident, **more):
    return work(start * US, end * US, id=ident, step=0, **more)


def _device(collectives, kernels, launches=()):
    as_kernels = [{**_kernel(0, 0, row["id"]), "kind": "collective", "stream": 20, "start_ns": row["start_ns"],
                   "dur_ns": row["dur_ns"]} for row in collectives]  # fmt: skip
    return collective_calls(
        table("collectives", *collectives), STEPS, INFO, table("kernels", *kernels, *as_kernels), None,
        table("launches", *launches) if launches else None,
    ).select("exposed_ns", "blocked_ns").rows()  # fmt: skip


def test_what_runs_beside_other_work_is_hidden():
    assert _device([_collective(10, 50, 1)], [_kernel(0, 60, 2)]) == [(0, 0)]


def test_what_the_next_kernel_waits_for_blocks():
    launches = [launch(0, 4 * US, id=9)]
    assert _device([_collective(10, 50, 1)], [_kernel(0, 20, 2), _kernel(50, 60, 3, launch_id=9)], launches) == [
        (30 * US, 30 * US)
    ]


def test_where_the_host_came_too_late_with_what_follows_nothing_was_blocked():
    launches = [launch(70 * US, 74 * US, id=9)]
    assert _device([_collective(10, 50, 1)], [_kernel(0, 20, 2), _kernel(76, 90, 3, launch_id=9)], launches) == [(30 * US, 0)]


def test_unless_the_host_itself_waited_for_it():
    launches = [
        launch(12 * US, 51 * US, "cudaStreamSynchronize", id=8, blocking="stream", work_count=0),
        launch(60 * US, 64 * US, id=9),
    ]
    assert _device([_collective(10, 50, 1)], [_kernel(0, 20, 2), _kernel(66, 90, 3, launch_id=9)], launches) == [
        (30 * US, 30 * US)
    ]


def test_a_gap_that_ends_before_the_collective_does_is_the_rank_s_own():
    assert _device([_collective(10, 50, 1)], [_kernel(0, 20, 2), _kernel(40, 60, 3)]) == [(20 * US, 0)]


def test_two_in_a_row_share_what_they_block():
    found = _device([_collective(10, 30, 1), _collective(30, 50, 4)], [_kernel(0, 20, 2)])
    assert found == [(10 * US, 10 * US), (20 * US, 20 * US)]


def test_members_come_from_the_header_and_turns_count_within_group_and_kind():
    rows = [_collective(10, 20, 1), _collective(20, 30, 2, kind="broadcast"), _collective(30, 40, 3)]
    found = collective_calls(table("collectives", *rows), STEPS, INFO)
    assert found.select("kind", "turn", "members").rows() == [
        ("all-reduce", 0, "[0, 1]"), ("broadcast", 0, "[0, 1]"), ("all-reduce", 1, "[0, 1]"),
    ]  # fmt: skip


def test_older_traces_give_the_payload_with_the_operator():
    ops = table(
        "cpu_ops",
        operator(
            0, 10 * US, "c10d::allreduce_", id=7, input_shapes="[[[1024, 4]], [], []]", input_types='["TensorList", "", ""]'
        ),
        operator(20 * US, 30 * US, "nccl:all_reduce", id=8, input_shapes="[[[1024, 4]]]", input_types='["float"]'),
    )
    rows = [_collective(10, 20, 1, op_id=7), _collective(30, 40, 2, op_id=8)]
    found = collective_calls(table("collectives", *rows), STEPS, INFO, cpu_ops=ops)
    assert found["bytes"].to_list() == [None, 1024 * 4 * 4]


def _host(collectives, ops):
    rows = [_collective(*row, device=None, stream=None, step=None) for row in collectives]
    found = collective_calls(table("collectives", *rows), STEPS, INFO, cpu_ops=table("cpu_ops", *ops))
    return found.select("step", pl.col("exposed_ns", "blocked_ns", "dur_ns") // US).rows()


def test_on_the_host_threads_that_do_nothing_wait():
    ops = [operator(0, 100 * US, "aten::mm"), operator(900 * US, 950 * US, "aten::add_")]
    assert _host([(50, 900, 1)], ops) == [(0, 800, 800, 850)]


def test_a_collective_s_own_thread_may_be_late_to_note_its_end():
    ops = [operator(0, 100 * US, "aten::mm"), operator(800 * US, 950 * US, "aten::add_")]
    assert _host([(50, 900, 1)], ops) == [(0, 700, 700, 750)]


def test_a_call_of_the_library_is_no_work_of_its_own():
    ops = [operator(0, 100 * US, "aten::mm"), operator(100 * US, 900 * US, "c10d::allreduce_")]
    assert _host([(50, 900, 1)], ops) == [(0, 800, 800, 850)]


def test_host_collectives_take_their_size_from_the_explaining_window():
    rows = [
        _collective(10, 20, ident, device=None, stream=None, step=None, **size) for ident, size in ((1, {}), (2, {"bytes": 5}))
    ]
    sizes = frame(SIZES, {"id": 1, "bytes": 512}, {"id": 2, "bytes": 9})
    found = collective_calls(table("collectives", *rows), STEPS, INFO, host_collective_sizes=sizes)
    assert found.sort("id")["bytes"].to_list() == [512, 5]


WAIT = launch(60 * US, 400 * US, "cudaStreamSynchronize", thread="9", blocking="stream", work_count=0)


def _beside_a_device(collectives, kernels, launches=(WAIT,), **more):
    rows = [_collective(*row, device=None, stream=None, step=None, process="1", thread="9") for row in collectives]
    found = collective_calls(
        table("collectives", *rows), STEPS, INFO, table("kernels", *kernels), None, table("launches", *launches), **more
    )
    return found.select(pl.col("start_ns", "dur_ns", "exposed_ns", "blocked_ns") // US).rows()


def test_on_the_host_a_collective_begins_when_the_device_has_given_its_data():
    # the device computes until 400; what is exchanged is there then, and the next kernel waits until 900
    assert _beside_a_device([(50, 900, 1)], [_kernel(0, 400, 2), _kernel(900, 950, 3)]) == [(400, 500, 500, 500)]


def test_what_hides_behind_the_device_blocks_nothing():
    assert _beside_a_device([(50, 500, 1)], [_kernel(0, 400, 2), _kernel(400, 950, 3)]) == [(400, 100, 0, 0)]


def test_a_wait_on_another_thread_or_after_its_end_is_none_of_its_own():
    others = (
        launch(60 * US, 400 * US, "cudaStreamSynchronize", blocking="stream", work_count=0),
        launch(910 * US, 990 * US, "cudaStreamSynchronize", thread="9", blocking="stream", work_count=0),
    )
    assert _beside_a_device([(50, 900, 1)], [_kernel(0, 400, 2)], others)[0][:2] == (50, 850)


def test_what_it_waits_for_is_told_where_requests_were_recorded():
    rows = [_collective(start, 900, ident, device=None, stream=None, step=None) for start, ident in ((50, 1), (60, 2))]
    requests = frame(REQUESTS, {"id": 1, "ready_ns": 40 * US}, {"id": 2, "ready_ns": 70 * US})
    found = collective_calls(table("collectives", *rows), STEPS, INFO, host_collective_requests=requests)
    # nothing is ready after it has begun, whatever the stamps say
    assert found["ready_ns"].to_list() == [40 * US, 60 * US]


def test_a_stream_or_a_thread_does_one_after_another():
    on_host = _collective(10, 20, 1, device=None, stream=None, step=None, process="3", thread="9")
    assert collective_calls(table("collectives", on_host), STEPS, INFO)["lane"].to_list() == ["thread 3 9"]
    assert collective_calls(table("collectives", _collective(10, 20, 1)), STEPS, INFO)["lane"].to_list() == ["stream 20"]
