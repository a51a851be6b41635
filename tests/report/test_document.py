from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from analyze.report.document import document, json_value, render
from tests import reports
from tests.reports import HOSTILE

FINDING_KEYS = [
    "id", "title", "severity", "confidence", "confidence_word", "basis", "rank", "step_saving_ms", "step_saving_low_ms",
    "step_saving_high_ms", "step_saving_fraction", "message", "location", "evidence", "evidence_count", "thresholds",
    "caveat", "fix",
]  # fmt: skip


def test_the_document_has_these_parts_in_this_order() -> None:
    assert list(document(reports.gpu_report())) == [
        "schema_version",
        "source",
        "summary",
        "verdict",
        "findings",
        "notes",
        "clear",
        "skipped",
        "data_quality",
        "ranks",
        "set_aside",
        "next_steps",
    ]


def test_the_summary_of_a_gpu_run() -> None:
    assert document(reports.gpu_report())["summary"] == {
        "label": "resnet18",
        "device": "NVIDIA H200",
        "device_count": 1,
        "versions": {"python": "3.12.3", "torch": "2.14.0", "cuda": "13.0"},
        "batch_size": 64,
        "rank": 0,
        "world_size": 1,
        "step_time_ms": {
            "median": 68.4,
            "mean": 68.4,
            "p10": 67.1,
            "p90": 70.2,
            "count": 40,
            "profiled": False,
            "source": "step log",
            "profiled_mean": 74.6,
            "inferred": False,
        },
        "step_parts_ms": {"compute": 14.24, "exposed_copy": 50.13, "idle_launch": 3.6, "unexplained": 0.43},
        "host_parts_ms": None,
        "device_busy_fraction": 0.941,
        "busy_without_collectives_fraction": 0.941,
        "samples_per_s": 935.67,
        "replay_error_fraction": 0.012,
        "after_all_fixes_ms": 14.9,
        "floor_ms": 14.24,
    }


def test_the_summary_of_a_cpu_run_holds_null_for_what_is_unknown() -> None:
    summary = document(reports.cpu_report())["summary"]
    assert summary["step_parts_ms"] is None
    assert summary["host_parts_ms"] == {"forward": 400.0, "backward": 800.0, "optimizer": 10.4}
    unknown = ["device_busy_fraction", "busy_without_collectives_fraction", "samples_per_s", "batch_size", "rank"]
    unknown += ["world_size", "replay_error_fraction", "after_all_fixes_ms", "floor_ms"]
    assert [summary[key] for key in unknown] == [None] * 9
    assert summary["step_time_ms"]["profiled_mean"] is None


def test_a_run_without_steps_has_no_step_time_and_no_fractions() -> None:
    found = document(replace(reports.stepless_report(), findings=(reports.COPY_FINDING,), outcomes=reports.gpu_report().outcomes))
    assert found["summary"]["step_time_ms"] is None
    assert found["findings"][0]["step_saving_fraction"] is None


def test_a_saving_key_by_key() -> None:
    finding = document(reports.gpu_report())["findings"][0]
    assert list(finding) == FINDING_KEYS
    assert finding.pop("step_saving_fraction") == pytest.approx(0.704678, abs=1e-6)
    assert finding == {
        "id": "pageable-copy",
        "title": "Copies from pageable memory hold up the step",
        "severity": "high",
        "confidence": 0.91,
        "confidence_word": "high",
        "basis": "replayed",
        "rank": None,
        "step_saving_ms": 48.2,
        "step_saving_low_ms": 46.0,
        "step_saving_high_ms": 50.1,
        "message": "8 copies of 38.5 MB from pageable memory take 50.1 ms of each step at 6.1 GB/s.",
        "location": "train.py(31): to",
        "evidence": [
            {"step": 11, "dur_ns": 50_130_000, "op": "aten::copy_", "bandwidth_gb_per_s": 6.1},
            {"step": 12, "dur_ns": 50_125_001, "op": "aten::copy_", "bandwidth_gb_per_s": 6.1},
            {"step": 13, "dur_ns": 50_140_000, "op": "aten::copy_", "bandwidth_gb_per_s": 6.0},
            {"step": 14, "dur_ns": 50_128_000, "op": "aten::copy_", "bandwidth_gb_per_s": None},
        ],
        "evidence_count": 4,
        "thresholds": {"SMALLEST_SAVING_NS": 50_000},
        "caveat": None,
        "fix": [
            {"text": "Let the loader pin its batches", "code": "pin_memory=True"},
            {"text": "Do not wait for the copy", "code": 'images = images.to("cuda", non_blocking=True)'},
        ],
    }


def test_a_note_has_the_same_keys_and_no_time() -> None:
    (note,) = document(reports.gpu_report())["notes"]
    assert list(note) == FINDING_KEYS
    assert {note[key] for key in FINDING_KEYS if key.startswith("step_saving") or key == "basis"} == {None}
    assert note["fix"] == [{"text": "Nothing to fix in the code", "code": None}]


def test_checks_data_quality_and_files_set_aside() -> None:
    found = document(reports.ranks_report())
    assert found["clear"] == []
    assert found["skipped"] == [{"id": "thermal-throttle", "reason": "the run has no temperature"}]
    assert found["data_quality"] == [
        {
            "cause": "unended event",
            "count": 2,
            "first_byte": None,
            "detail": "left out of sums",
            "file": "rank0.pt.trace.json.gz",
        }
    ]
    assert found["set_aside"] == [{"file": "rank2.json", "reason": "empty file"}]
    assert [(one["rank"], one["name"]) for one in found["ranks"]] == [(0, "rank0.json"), (1, "rank1.json")]


def test_evidence_is_capped_and_counted() -> None:
    many = replace(reports.COPY_FINDING, evidence=pl.DataFrame({"step": range(1_000)}))
    finding = document(replace(reports.gpu_report(), findings=(many,)))["findings"][0]
    assert len(finding["evidence"]) == 20
    assert finding["evidence_count"] == 1_000


def test_nothing_but_json_numbers_comes_out() -> None:
    cells = {"a": float("nan"), "b": (float("-inf"), 2**70), 3: {"c": b"\xff", "d": True}}
    assert json_value(cells) == {"a": None, "b": [None, 2**70], "3": {"c": "b'\\xff'", "d": True}}


def test_hostile_text_survives_unchanged_and_cannot_drive_a_terminal() -> None:
    text = render(reports.hostile_report())
    assert text.isascii()
    assert not {char for char in text if ord(char) < 0x20} - {"\n"}
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found["verdict"] == HOSTILE
    assert found["findings"][0]["evidence"] == [{"step": 1, "op": HOSTILE, "share": None}]
    assert found["summary"]["samples_per_s"] is None


def test_a_lone_surrogate_can_be_written() -> None:
    text = render(replace(reports.gpu_report(), verdict="\ud800"))
    assert "\\ud800" in text
    text.encode("utf-8")
