"""Who wrote it, and where do its events belong?"""

from __future__ import annotations

import pkgutil

import pytest

from analyze.ingest import producers
from tests.ingest.traces import count, kernel, only, op, quality, rows, text, write


def event(category: str, name: str = "x", args: str = "{}", pid: str = "0", tid: str = "7", ph: str = "X") -> str:
    return f'{{"ph": "{ph}", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid}, "ts": 1000, "dur": 2, "args": {args}}}'


def lane(process: str, name: str, thread: str | None = None) -> str:
    kind = "process_name" if thread is None else "thread_name"
    tid = "" if thread is None else f'"tid": {thread}, '
    return f'{{"ph": "M", "name": "{kind}", "pid": {process}, {tid}"args": {{"name": "{name}"}}}}'


def test_every_producer_file_is_found():
    found = {each.name for each in producers.producers()}
    assert found == {each.name for each in pkgutil.iter_modules(producers.__path__)}


@pytest.mark.parametrize(
    ("category", "family"),
    [
        ("kernel", "device_events"),
        ("gpu_memcpy", "device_events"),
        ("Kernel", "device_events"),
        ("Memset", "device_events"),
        ("cuda_runtime", "runtime_events"),
        ("cuda_driver", "runtime_events"),
        ("Runtime", "runtime_events"),
        ("xpu_runtime", "runtime_events"),
        ("privateuse1_runtime", "runtime_events"),
        ("cpu_op", "op_events"),
        ("Operator", "op_events"),
        ("python_function", "python_events"),
        ("user_annotation", "annotation_events"),
        ("gpu_user_annotation", "annotation_events"),
        ("cuda_sync", "sync_events"),
        ("overhead", "overhead_events"),
        ("cuda_profiler_range", "other_events"),
        ("mtia_something_new", "other_events"),
    ],
)
def test_kineto_categories(tmp_path, category, family):
    trace = only(write(tmp_path / "a.json", text(event(category))))
    assert rows(trace, family, "category") == [category]
    assert count(trace) == 1


@pytest.mark.parametrize(
    ("events", "header", "kind"),
    [
        ([event("kernel"), event("cuda_runtime", "cudaLaunchKernel")], "", "kineto-cuda"),
        ([event("kernel"), event("cuda_runtime", "hipLaunchKernel")], "", "kineto-rocm"),
        ([event("kernel")], '"hip_runtime_version": 6,', "kineto-rocm"),
        ([event("kernel"), event("xpu_runtime", "urEnqueueKernelLaunch")], "", "kineto-xpu"),
        ([event("mtia_ccp_events")], "", "kineto-mtia"),
        ([event("kernel"), event("privateuse1_runtime")], "", "kineto-privateuse1"),
        ([op()], '"deviceProperties": [],', "kineto-cpu"),
        ([op(), event("cuda_runtime", "cudaLaunchKernel")], "", "kineto-cuda"),
    ],
)
def test_kineto_device_kinds(tmp_path, events, header, kind):
    trace = only(write(tmp_path / "a.json", text(*events, header='{"schemaVersion": 1,' + header)))
    assert trace.info.producer == kind


def test_typed_columns_of_a_kernel(tmp_path):
    args = (
        '{"External id": 9, "queued": 0, "device": 1, "context": 1, "stream": 7, "correlation": 42,'
        ' "registers per thread": 32, "shared memory": 16, "blocks per SM": 1.5, "warps per SM": 3.25,'
        ' "grid": [4, 2, 1], "block": [128, 1, 1], "est. achieved occupancy %": 31, "graph id": 3, "graph node id": 5,'
        ' "Collective name": "allreduce", "In msg nelems": 10, "Group size": 8, "dtype": "Float"}'
    )
    trace = only(write(tmp_path / "a.json", text(kernel(args=args))))
    columns = (
        "kind", "device", "stream", "correlation", "external_id", "blocks", "threads_per_block", "registers_per_thread",
        "shared_memory_bytes", "blocks_per_sm", "warps_per_sm", "occupancy_percent", "graph_id", "graph_node",
        "collective_name", "in_elements", "group_size", "element_type",
    )  # fmt: skip
    assert rows(trace, "device_events", *columns) == [
        ("kernel", 1, 7, 42, 9, 8, 128, 32, 16, 1.5, 3.25, 31.0, 3, 5, "allreduce", 10, 8, "Float")
    ]


def test_old_kineto_lanes_and_keys(tmp_path):
    args = '{"external id": 50, "device": 0, "correlation": 3}'
    trace = only(write(tmp_path / "a.json", text(event("Kernel", args=args, tid='"stream 7"'))))
    assert rows(trace, "device_events", "stream", "external_id", "thread") == [(7, 50, "stream 7")]


def test_copies_are_copies_by_category_on_every_vendor(tmp_path):
    events = (
        event("gpu_memcpy", "CopyHostToDevice", '{"correlation": -1}'),
        event("kernel", "CopyDeviceToHost"),
        event("kernel", "gemm"),
    )
    trace = only(write(tmp_path / "a.json", text(*events)))
    assert rows(trace, "device_events", "kind", "correlation") == [("memcpy", None), ("memcpy", None), ("kernel", None)]
    assert quality(trace)["missing-correlation"] == 3


def test_correlations_of_zero_and_below_are_no_link(tmp_path):
    kernels = [kernel(args=f'{{"correlation": {value}}}') for value in (0, -1, 5)]
    trace = only(write(tmp_path / "a.json", text(*kernels)))
    assert rows(trace, "device_events", "correlation") == [None, None, 5]
    assert quality(trace)["missing-correlation"] == 2


def test_a_correlation_shared_by_calls_of_one_process_is_counted(tmp_path):
    calls = [event("cuda_runtime", "cudaLaunchKernel", '{"correlation": 42}', pid=pid) for pid in ("1", "1", "2")]
    trace = only(write(tmp_path / "a.json", text(*calls, kernel(args='{"correlation": 42}'))))
    assert quality(trace)["duplicate-correlation"] == 1


@pytest.mark.parametrize(
    ("call", "category"),
    [
        ("cudaLaunchKernel", "cuda_runtime"),
        ("hipExtModuleLaunchKernel", "cuda_runtime"),
        ("zeCommandListAppendLaunchKernel", "xpu_runtime"),
        ("urEnqueueKernelLaunch", "xpu_runtime"),
    ],
)
def test_launches_without_device_work_are_said_to_lack_it(tmp_path, call, category):
    trace = only(write(tmp_path / "a.json", text(op(), *(event(category, call) for _ in range(5)))))
    assert quality(trace)["device-activity-missing"] == 5


def test_a_cpu_only_trace_lacks_nothing(tmp_path):
    trace = only(write(tmp_path / "a.json", text(op())))
    assert quality(trace) == {}


def test_device_work_without_launches_is_not_called_missing(tmp_path):
    assert "device-activity-missing" not in quality(only(write(tmp_path / "a.json", text(kernel()))))


def test_a_profiler_row_after_the_end_of_the_record_is_no_device_work(tmp_path):
    row = event("Trace", "PyTorch Profiler (0)", pid='"__xpu_profiler__"', tid='"__xpu_profiler__ 0"')
    trace = only(write(tmp_path / "a.json", text(kernel(), row)))
    assert rows(trace, "other_events", "thread") == ["__xpu_profiler__ 0"]
    assert len(rows(trace, "device_events", "id")) == 1


def test_memory_events_old_and_new(tmp_path):
    new = '{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 5, "args": {"Total Reserved": 30, "Total Allocated": 20, "Bytes": -10, "Device Id": 0, "Device Type": 1, "Addr": 139670692298752}}'
    old = '{"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": 6, "args": {"Device Type": 0, "Device Id": -1, "Bytes": 4}}'
    other = '{"ph": "i", "s": "g", "name": "Iteration Start", "pid": 1, "tid": 1, "ts": 5}'
    trace = only(write(tmp_path / "a.json", text(new, old, other)))
    columns = "bytes", "total_allocated_bytes", "total_reserved_bytes", "device_type", "device", "address"
    assert rows(trace, "memory_events", *columns) == [(-10, 20, 30, 1, 0, 139670692298752), (4, None, None, 0, -1, None)]
    assert rows(trace, "other_events", "phase") == ["i"]
    assert trace.info.has_memory


def test_annotations_of_host_and_device(tmp_path):
    events = (
        event("user_annotation", "ProfilerStep#5", pid="1", tid="1"),
        event("gpu_user_annotation", "ProfilerStep#5", pid="2", tid="9"),
    )
    trace = only(write(tmp_path / "a.json", text(*events)))
    assert rows(trace, "annotation_events", "on_device", "device", "stream") == [(False, None, None), (True, 2, 9)]


def test_sync_records(tmp_path):
    args = '{"stream": 7, "correlation": 5, "device": 0, "wait_on_stream": 3, "wait_on_cuda_event_record_corr_id": 4}'
    trace = only(write(tmp_path / "a.json", text(event("cuda_sync", "Stream Wait Event", args))))
    columns = "device", "stream", "correlation", "wait_on_stream", "wait_on_record_correlation"
    assert rows(trace, "sync_events", *columns) == [(0, 7, 5, 3, 4)]
    assert trace.info.has_sync_records


def test_flows_keep_ids_of_any_kind(tmp_path):
    flows = [
        f'{{"ph": "{phase}", "id": {number}, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 2, "ts": 5, "bp": "e"}}'
        for phase, number in (("s", "7"), ("f", '"0x1f"'), ("t", "99999999999999999999"))
    ]
    trace = only(write(tmp_path / "a.json", text(*flows)))
    assert rows(trace, "flow_events", "phase", "flow_id") == [("s", "7"), ("f", "0x1f"), ("t", "99999999999999999999")]


def test_legacy_autograd_list(tmp_path):
    host = '{"name": "aten::mul", "ph": "X", "ts": 10.5, "dur": 3.0, "tid": 1, "pid": "CPU functions", "args": {}}'
    device = '{"name": "aten::mul", "ph": "X", "ts": 12.0, "dur": 1.5, "tid": 0, "pid": "CUDA functions", "args": {}}'
    flow = '{"name": "aten::mul", "ph": "s", "ts": 10.5, "tid": 1, "pid": "CPU functions", "id": 1, "cat": "cpu_to_cuda", "args": {}}'
    trace = only(write(tmp_path / "a.json", f"[{host}, {flow}, {device}]"))
    assert trace.info.producer == "autograd"
    assert rows(trace, "op_events", "name", "start_ns", "dur_ns") == [("aten::mul", 10_500, 3_000)]
    assert rows(trace, "device_events", "kind", "device", "dur_ns") == [("kernel", 0, 1_500)]
    assert len(rows(trace, "flow_events", "id")) == 1


def span(pid: int, tid: int, name: str, ts: str, dur: str, args: str = "{}") -> str:
    return f'{{"ph": "X", "pid": {pid}, "tid": {tid}, "name": "{name}", "ts": {ts}, "dur": {dur}, "args": {args}}}'


def test_jax_lanes(tmp_path):
    events = [
        lane("1", "/device:GPU:0"), lane("1", "Stream #13(compute)", "13"), lane("1", "Steps", "20"),
        lane("2", "/host:CPU"), lane("2", "python", "30"),
        span(1, 13, "fusion.1", "1.5", "2.5", '{"correlation_id": 8}'), span(1, 13, "MemcpyH2D", "5", "1"),
        span(1, 20, "1", "1", "9"), span(2, 30, "$train.py:7 step", "0.5", "9"), span(2, 30, "PjitFunction(f)", "1", "2"), "{}",
    ]  # fmt: skip
    trace = only(write(tmp_path / "a.json", '{"displayTimeUnit": "ns", "traceEvents": [' + ",".join(events) + "]}"))
    assert trace.info.producer == "jax"
    assert rows(trace, "device_events", "name", "kind", "device", "stream", "correlation") == [
        ("fusion.1", "kernel", 0, 13, 8),
        ("MemcpyH2D", "memcpy", 0, 13, None),
    ]
    assert rows(trace, "annotation_events", "name", "on_device") == [("1", True)]
    assert rows(trace, "python_events", "name") == ["$train.py:7 step"]
    assert rows(trace, "op_events", "name") == ["PjitFunction(f)"]
    assert not trace.info.time_is_absolute
    assert "missing-timestamp" not in quality(trace)


def test_tensorflow_timeline(tmp_path):
    host, stream, everything = (
        "/job:localhost/replica:0/task:0/device:GPU:0 Compute",
        "/device:GPU:0/stream:14 Compute",
        "/device:GPU:0/stream:all Compute",
    )
    events = [
        lane("1", host), lane("2", stream), lane("3", everything), lane("4", "/job:localhost/replica:0/task:0/device:CPU:0 Compute"),
        span(1, 0, "MatMul", "10", "5"), span(2, 0, "MatMul", "12", "2"), span(3, 0, "MatMul", "12", "2"), span(4, 0, "Const", "9", "1"),
    ]  # fmt: skip
    trace = only(write(tmp_path / "a.json", '{"traceEvents": [' + ",".join(events) + "]}"))
    assert trace.info.producer == "tensorflow"
    assert rows(trace, "device_events", "device", "stream", "dur_ns") == [(0, 14, 2_000)]
    assert rows(trace, "op_events", "name") == ["MatMul", "Const"]
    assert len(rows(trace, "other_events", "id")) == 1


def test_ascend_view_with_a_comma_missing(tmp_path):
    events = [
        lane("5", "Ascend Hardware"), lane("5", "Stream 3", "3"), lane("6", "CANN"), lane("7", "Python"),
        '{"ph": "X", "name": "MatMulV2", "pid": 5, "tid": 3, "ts": "1713166233123.750", "dur": 12.5, "args": {"Task Type": "AI_CORE", "Stream Id": 3, "connection_id": 77}}',
        '{"ph": "X", "name": "aclrtLaunch", "pid": 6, "tid": 1, "ts": "1713166233120.250", "dur": 1, "args": {"connection_id": 77}}',
        '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 1, "ts": "1713166233119.000", "dur": 4, "args": {"Input Dims": [[2, 2]]}}',
    ]  # fmt: skip
    trace = only(write(tmp_path / "a.json", "[" + ",".join(events[:5]) + "\n" + ",".join(events[5:]) + "]"))
    assert trace.info.producer == "kineto-ascend"
    assert rows(trace, "device_events", "name", "stream", "correlation", "start_ns") == [
        ("MatMulV2", 3, 77, 1_713_166_233_123_750)
    ]
    assert rows(trace, "runtime_events", "name", "correlation") == [("aclrtLaunch", 77)]
    assert rows(trace, "op_events", "name", "input_dims") == [("aten::mm", "[[2, 2]]")]


def test_begin_and_end_events_become_spans(tmp_path):
    def mark(phase: str, ts: int, name: str = "", tid: int = 1) -> str:
        return f'{{"ph": "{phase}", "name": "{name}", "pid": 1, "tid": {tid}, "ts": {ts}}}'

    events = [
        mark("B", 0, "outer"), mark("B", 2, "inner"), mark("E", 5), mark("B", 6, "second"), mark("E", 6), mark("E", 9),
        mark("E", 10), mark("B", 11, "open"), mark("B", 1, "elsewhere", 2), mark("E", 4, "", 2),
    ]  # fmt: skip
    trace = only(write(tmp_path / "a.json", "[" + ",".join(events) + "]"))
    assert trace.info.producer == "chrome"
    assert rows(trace, "other_events", "name", "phase", "dur_ns") == [
        ("outer", "X", 9_000),
        ("inner", "X", 3_000),
        ("second", "X", 0),
        ("open", "X", None),
        ("elsewhere", "X", 3_000),
    ]
    assert quality(trace) == {"unfinished": 1, "unpaired-event": 1}


def test_an_event_count_at_a_round_cap_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("analyze.ingest.parsed.EVENT_CAPS", (3,))
    assert quality(only(write(tmp_path / "a.json", text(op(), op(), op()))))["event-cap"] == 3
    assert "event-cap" not in quality(only(write(tmp_path / "b.json", text(op(), op()))))


@pytest.mark.parametrize(
    ("first", "said"), [(b"\x80\x05xx", "pickle"), (b"SQLite format 3\0", "SQLite"), (b"\xff\xfe{\0", "UTF-16")]
)
def test_files_of_other_kinds_are_refused_by_name(tmp_path, first, said):
    from analyze.errors import TraceFormatError  # noqa: PLC0415

    with pytest.raises(TraceFormatError, match=said):
        only(write(tmp_path / "a.json", first * 4))
