"""Manifests, step logs, telemetry, ranks, windows and cycles."""

from __future__ import annotations

import json

import polars as pl
import pytest

from analyze import schema
from analyze.errors import InputError
from analyze.ingest import read
from analyze.ingest.identity import rank_of_name, window_of
from tests.ingest.traces import HEADER, op, quality, text, write


@pytest.fixture
def run(tmp_path):
    write(tmp_path / "rank0.times.pt.trace.json.gz", text(op(ts="10")))
    write(tmp_path / "rank0.explanations.pt.trace.json.gz", text(op(ts="20")))
    write(tmp_path / "rank0.times.1.pt.trace.json.gz", text(op(ts="30")))
    manifest = {"format": "stepscope-run", "format_version": 1, "rank": 0, "label": "resnet18", "windows": []}
    write(tmp_path / "manifest.0.json", manifest)
    steps = [
        {"step": 0, "start_ns": 5, "dur_ns": 7, "input_wait_ns": 1, "samples": 64, "loss": 1.5, "phase": "baseline"},
        {"step": 1, "start_ns": 12, "dur_ns": 7, "input_wait_ns": None, "samples": None, "loss": None, "phase": "times"},
    ]
    (tmp_path / "steps.0.jsonl").write_text("\n".join(map(json.dumps, steps)) + '\n{"step": 2, "start')
    samples = [
        {
            "header": {
                "host": "node1",
                "clock": "time_ns",
                "interval_s": 0.1,
                "devices": [],
                "unsupported": {"power_w": "not supported"},
            }
        },
        {
            "time_ns": 100,
            "source": "nvml",
            "device_uuid": "GPU-1",
            "utilisation_percent": 90,
            "power_w": None,
            "throttle_reasons": ["power"],
        },
        {"time_ns": 90, "source": "psutil", "cpu_percent": 12.5, "cpu_percent_per_core": [10, 15], "memory_used_bytes": 5},
    ]
    (tmp_path / "telemetry.node1.jsonl").write_text("\n".join(map(json.dumps, samples)))
    return tmp_path


def test_a_run_directory_is_read_whole(run):
    recording = read(run, cache=False)
    assert [(trace.rank, trace.cycle, trace.window) for trace in recording.traces] == [
        (0, 0, "explanations"),
        (0, 0, "times"),
        (0, 1, "times"),
    ]
    assert recording.manifests[0]["label"] == "resnet18"
    assert recording.set_aside == ()


def test_the_step_log_has_the_schema_and_leaves_out_half_lines(run):
    log = read(run, cache=False).step_log
    assert log is not None
    assert dict(log.schema) == {each.name: each.dtype for each in schema.TABLES["step_log"]}
    assert log.select("rank", "step", "input_wait_ns", "samples", pl.col("phase").cast(pl.String)).rows() == [
        (0, 0, 1, 64, "baseline"),
        (0, 1, None, None, "times"),
    ]


def test_telemetry_is_one_row_per_value_in_order_of_time(run):
    recording = read(run, cache=False)
    telemetry = recording.telemetry
    assert telemetry is not None
    assert dict(telemetry.schema) == {each.name: each.dtype for each in schema.TABLES["telemetry"]}
    shown = telemetry.select("time_ns", pl.col("source", "metric", "unit").cast(pl.String), "value").rows()
    assert shown == [
        (90, "psutil", "cpu_percent", "%", 12.5),
        (90, "psutil", "cpu_percent_per_core.0", "%", 10.0),
        (90, "psutil", "cpu_percent_per_core.1", "%", 15.0),
        (90, "psutil", "memory_used_bytes", "bytes", 5.0),
        (100, "nvml", "utilisation_percent", "%", 90.0),
        (100, "nvml", "power_w", "W", None),
        (100, "nvml", "throttle_reasons", "", 1.0),
        (100, "nvml", "throttle_reasons.power", "", 1.0),
    ]
    assert recording.telemetry_header["node1"]["unsupported"] == {"power_w": "not supported"}


def test_a_run_without_traces_is_still_a_run(run):
    for trace in run.glob("*.gz"):
        trace.unlink()
    recording = read(run, cache=False)
    assert recording.traces == ()
    assert recording.step_log is not None


def test_a_manifest_of_something_else_is_set_aside(tmp_path):
    write(tmp_path / "manifest.0.json", {"name": "a web app"})
    write(tmp_path / "manifest.1.json", '{"half')
    write(tmp_path / "a.json", text(op()))
    recording = read(tmp_path, cache=False)
    assert recording.manifests == {}
    assert {each.file for each in recording.set_aside} == {"manifest.0.json", "manifest.1.json"}


def test_logs_alone_are_no_recording(tmp_path):
    (tmp_path / "steps.0.jsonl").write_text("{}")
    with pytest.raises(InputError):
        read(tmp_path, cache=False)


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", 34),
        ("rank3.times.pt.trace.json.gz", 3),
        ("worker0.1623212756351.pt.trace.json", 0),
        ("w_rank3.json", 3),
        ("Baseline - 12-11 - e049e-rank0-chrome-trace.json.gz", 0),
        ("profile_trace_rank_12.json.gz", 12),
        ("foo.json", None),
        ("host_2147.169895.pt.trace.json", None),
        ("frank5.json", None),
        ("ranking2.json", None),
    ],
)
def test_ranks_of_names(name, rank):
    assert rank_of_name(name) == rank


def test_the_rank_in_the_file_comes_before_the_rank_in_its_name(tmp_path):
    header = HEADER + ' "distributedInfo": {"rank": 5, "world_size": 8, "backend": "nccl"},'
    write(tmp_path / "rank0.json", text(op(), header=header))
    write(tmp_path / "w_rank3.json", text(op()))
    write(tmp_path / "foo.json", text(op()))
    traces = read(tmp_path, cache=False).traces
    assert [(trace.name, trace.rank, trace.info.rank) for trace in traces] == [
        ("w_rank3.json", 3, 3),
        ("rank0.json", 5, 5),
        ("foo.json", None, None),
    ]
    assert (traces[1].info.world_size, traces[1].info.backend) == (8, "nccl")


def test_loose_traces_of_one_rank_are_its_cycles_in_order_of_time(tmp_path):
    header = HEADER + ' "distributedInfo": {"rank": 0},'
    write(tmp_path / "a.json", text(op(ts="1800000000000000"), header=header))
    write(tmp_path / "b.json", text(op(ts="1700000000000000"), header=header))
    write(tmp_path / "x.json", text(op(ts="1")))
    write(tmp_path / "y.json", text(op(ts="2")))
    traces = read(tmp_path, cache=False).traces
    assert [(trace.name, trace.cycle) for trace in traces] == [("b.json", 0), ("a.json", 1), ("x.json", 0), ("y.json", 0)]


def test_windows_come_from_the_manifest_before_the_name():
    manifest = {0: {"windows": [{"name": "explanations", "trace": "odd.json"}, {"name": "nonsense", "trace": "b.json"}, None]}}
    assert window_of("odd.json", manifest) == "explanations"
    assert window_of("b.json", manifest) is None
    assert window_of("rank0.times.pt.trace.json", {}) == "times"
    assert window_of("sometimes.json", {}) is None


def test_a_merged_file_of_two_processes_keeps_their_lanes_apart(tmp_path):
    def call(pid: int) -> str:
        return f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": {pid}, "tid": {pid}, "ts": 1, "dur": 1, "args": {{"correlation": 42}}}}'

    (trace,) = read(write(tmp_path / "a.json", text(call(1000), call(2000))), cache=False).traces
    frame = trace.frames["runtime_events"].collect()
    assert frame["process"].cast(pl.String).to_list() == ["1000", "2000"]
    assert "duplicate-correlation" not in quality(trace)
