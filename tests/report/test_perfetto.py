from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import polars as pl

from analyze.report import perfetto
from analyze.schema import TABLES
from tests import reports
from tests.builders import frame
from tests.reports import SUMMARY, table_source

ORIGIN = 1_700_000_000_000_000_000


def report_with(**tables: pl.DataFrame) -> Any:
    summary = replace(SUMMARY, window_ns=(ORIGIN, ORIGIN + 10_000))
    evidence = pl.DataFrame({"step": [7, 7], "start_ns": [ORIGIN + 1_000, ORIGIN + 2_000], "dur_ns": [500, None]})
    finding = replace(reports.COPY_FINDING, evidence=evidence)
    return replace(reports.gpu_report(), summary=summary, findings=(finding,), notes=(), table=table_source(**tables))


def events(**tables: pl.DataFrame) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(perfetto.render(report_with(**tables)))["traceEvents"]
    return found


STEPS = frame(TABLES["steps"], {"step": 7, "start_ns": ORIGIN, "dur_ns": 10_000, "cycle": 0, "inferred": False})
KERNELS = frame(
    TABLES["kernels"],
    {"name": "gemm", "kind": "gemm", "device": 0, "stream": 7, "start_ns": ORIGIN + 1_234, "dur_ns": 4_001, "step": 7},
    {"name": "before", "device": 0, "stream": 7, "start_ns": ORIGIN - 900, "dur_ns": 100},
    {"name": "side", "device": 0, "stream": 20, "start_ns": ORIGIN + 3_000, "dur_ns": 2_000, "step": 7},
)
GAPS = pl.DataFrame({"device": [0], "step": [7], "start_ns": [ORIGIN], "dur_ns": [1_234], "cause": ["launch"]})


def test_steps_device_work_and_gaps_are_slices_in_microseconds_from_the_window() -> None:
    slices = [event for event in events(steps=STEPS, kernels=KERNELS, gpu_gaps=GAPS) if event["ph"] == "X"]
    assert slices == [
        {"name": "step 7", "ph": "X", "pid": 1, "tid": 0, "ts": 0.0, "dur": 10.0, "args": {"step": 7}},
        {"name": "launch", "ph": "X", "pid": 10, "tid": 0, "ts": 0.0, "dur": 1.234, "args": {"step": 7}},
        {"name": "gemm", "ph": "X", "pid": 10, "tid": 1, "ts": 1.234, "dur": 4.001, "args": {"step": 7, "kind": "gemm"}},
        {"name": "side", "ph": "X", "pid": 10, "tid": 2, "ts": 3.0, "dur": 2.0, "args": {"step": 7}},
    ]


def test_tracks_are_named() -> None:
    names = [
        (event["name"], event["pid"], event["tid"], event["args"]["name"])
        for event in events(steps=STEPS, kernels=KERNELS, gpu_gaps=GAPS)
        if event["name"] in {"process_name", "thread_name"}
    ]
    assert names == [
        ("process_name", 1, 0, "Steps"),
        ("thread_name", 1, 0, "steps"),
        ("process_name", 10, 0, "Device 0"),
        ("thread_name", 10, 0, "idle, by cause"),
        ("thread_name", 10, 1, "stream 7"),
        ("thread_name", 10, 2, "stream 20"),
        ("process_name", 2, 0, "Findings"),
    ]


def test_evidence_is_a_span_or_an_instant() -> None:
    found = [event for event in events() if event.get("cat") == "pageable-copy"]
    assert [(event["ph"], event["id"], event["ts"]) for event in found] == [
        ("b", "pageable-copy 0", 1.0),
        ("e", "pageable-copy 0", 1.5),
        ("n", "pageable-copy 1", 2.0),
    ]
    assert found[0]["args"]["message"] == reports.COPY_FINDING.message


def test_a_run_without_device_work_still_has_its_steps() -> None:
    assert [event["name"] for event in events(steps=STEPS) if event["ph"] == "X"] == ["step 7"]


def test_a_run_with_nothing_to_show_is_an_empty_trace() -> None:
    report = replace(reports.stepless_report(), table=table_source())
    found = json.loads(perfetto.render(report))
    assert [event["ph"] for event in found["traceEvents"]] == ["M"] * 4
    assert found["otherData"] == {"source": report.source, "origin_ns": "0", "device_items_left_out": 0}


def test_beyond_the_cap_the_longest_device_work_is_kept_and_the_rest_counted() -> None:
    count = perfetto.DEVICE_ITEMS + 3
    many = pl.DataFrame({"start_ns": range(ORIGIN, ORIGIN + count), "dur_ns": range(count)})
    kernels = many.with_columns(
        name=pl.lit("k"), device=pl.lit(0, pl.Int64), stream=pl.lit(7), step=pl.lit(7, pl.Int64), kind=pl.lit("gemm")
    )
    report = replace(report_with(kernels=kernels), summary=SUMMARY)
    found = json.loads(perfetto.render(report))
    assert found["otherData"]["device_items_left_out"] == 3
    assert min(event["dur"] for event in found["traceEvents"] if event["ph"] == "X") == 0.003


def test_hostile_names_are_escaped_for_json_and_no_number_is_nan() -> None:
    text = perfetto.render(reports.hostile_report())
    assert text.isascii()
    assert "NaN" not in text
