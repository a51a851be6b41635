# ruff: noqa: RUF001 - minus signs and dashes are meant
from __future__ import annotations

import json
from dataclasses import replace

from analyze.comparison import Comparison
from analyze.report.comparison_text import lines, render
from tests import reports
from tests.reports import MS, SUMMARY

FIXED = replace(
    reports.gpu_report(),
    source="runs/fixed",
    summary=replace(SUMMARY, step_parts_ns={"compute": 14.2 * MS, "idle_input_wait": 0.6 * MS}),
    findings=(reports.OPTIMIZER_FINDING,),
)
COMPARISON = Comparison(
    metric="step_time",
    base=reports.gpu_report(),
    new=FIXED,
    base_ns=68.4 * MS,
    new_ns=14.8 * MS,
    base_count=40,
    new_count=38,
    change=-0.7836,
    change_low=-0.79,
    change_high=-0.77,
    max_regression=0.05,
    decision="passed",
)


def text(comparison: Comparison) -> str:
    return "\n".join("".join(part for part, _ in line) for line in lines(comparison, 80))


def test_a_comparison_shows_the_change_its_noise_the_parts_and_the_findings() -> None:
    assert (
        text(COMPARISON)
        == """\
base    resnet18 · NVIDIA H200 · torch 2.14.0 · cuda 13.0 · batch 64 · rank 0 o…
new     resnet18 · NVIDIA H200 · torch 2.14.0 · cuda 13.0 · batch 64 · rank 0 o…
step_time  68.4 → 14.8 ms, −78.4% (−79.0% to −77.0%; 40 and 38 steps)
   exposed copy          50.1 →        – ms
   compute               14.3 →     14.2 ms
   idle: launch           3.6 →        – ms
   idle: input wait         – →      0.6 ms
   unexplained            0.4 →        – ms
gone    pageable-copy, launch-bound
gate    passed (allowed: +5.0%)"""
    )


def test_without_a_gate_and_without_known_noise() -> None:
    plain = replace(COMPARISON, max_regression=None, decision=None, change_low=None, change_high=None)
    assert "−78.4% (too few steps to know the noise; 40 and 38 steps)" in text(plain)
    assert "gate" not in text(plain)


def test_the_document_key_by_key() -> None:
    assert json.loads(render(COMPARISON)) == {
        "schema_version": 1,
        "base": "runs/2026-12-01-resnet18",
        "new": "runs/fixed",
        "metric": "step_time",
        "base_ms": 68.4,
        "new_ms": 14.8,
        "base_count": 40,
        "new_count": 38,
        "change_fraction": -0.7836,
        "change_low_fraction": -0.79,
        "change_high_fraction": -0.77,
        "max_regression_fraction": 0.05,
        "decision": "passed",
        "base_parts_ms": {"compute": 14.24, "exposed_copy": 50.13, "idle_launch": 3.6, "unexplained": 0.43},
        "new_parts_ms": {"compute": 14.2, "idle_input_wait": 0.6},
        "findings_gone": ["pageable-copy", "launch-bound"],
        "findings_new": [],
    }
