from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from analyze.comparison import compare
from analyze.errors import GateFailed, GateUndecided, InputError, MissingData, NotComparable
from tests import reports
from tests.reports import STEP, SUMMARY, steps_of, table_source

if TYPE_CHECKING:
    from analyze.findings.model import Report

STEADY = (68.0, 68.2, 68.4, 68.1, 68.3, 68.2, 68.0, 68.4)


def run(*times_ms: float, profiled: bool = False) -> Report:
    table = table_source(step_time=steps_of(*times_ms, profiled=profiled))
    return replace(reports.gpu_report(), table=table, summary=replace(SUMMARY, step_time=replace(STEP, profiled=profiled)))


def test_the_change_is_that_of_the_mean_with_bounds_around_it() -> None:
    result = compare(run(*STEADY), run(*(time * 1.1 for time in STEADY)))
    assert result.change == pytest.approx(0.1)
    assert result.change_low is not None
    assert result.change_high is not None
    assert 0.09 < result.change_low < 0.1 < result.change_high < 0.11
    assert (result.base_count, result.new_count) == (8, 8)
    assert result.decision is None
    result.gate()


@pytest.mark.parametrize(
    ("factor", "allowed", "decision"),
    [(1.0, 0.05, "passed"), (0.5, 0.0, "passed"), (1.1, 0.05, "failed"), (1.05, 0.05, "undecided")],
)
def test_a_gate_decides_only_where_the_bounds_lie_on_one_side(factor: float, allowed: float, decision: str) -> None:
    assert compare(run(*STEADY), run(*(time * factor for time in STEADY)), max_regression=allowed).decision == decision


def test_a_failed_gate_says_by_how_much() -> None:
    result = compare(run(*STEADY), run(*(time * 1.1 for time in STEADY)), max_regression=0.05)
    with pytest.raises(GateFailed, match=r"^step_time changed by \+10.0% \(between \+9.\d% and \+10.\d%\), \+5.0% is allowed$"):
        result.gate()


def test_noise_larger_than_the_allowed_change_is_undecided() -> None:
    result = compare(run(50, 90, 60, 80, 55), run(52, 88, 62, 81, 58), max_regression=0.05)
    with pytest.raises(GateUndecided, match="record more steps to decide"):
        result.gate()


def test_two_steps_are_too_few_to_know_the_noise() -> None:
    result = compare(run(68, 69), run(*STEADY), max_regression=0.05)
    assert (result.change_low, result.change_high, result.decision) == (None, None, "undecided")


def test_the_same_input_gives_the_same_bounds() -> None:
    assert compare(run(50, 90, 60), run(52, 88, 62)).change_high == compare(run(50, 90, 60), run(52, 88, 62)).change_high


@pytest.mark.parametrize("metric", ["step_time_median", "step_time_p90"])
def test_other_statistics_have_bounds_too(metric: str) -> None:
    result = compare(run(*STEADY), run(*(time * 2 for time in STEADY)), metric=metric)
    assert result.change == pytest.approx(1.0)


def test_only_steps_of_the_kind_the_report_speaks_of_are_compared() -> None:
    both = pl.concat([steps_of(68, 69, 70), steps_of(100, 100, profiled=True)])
    base = replace(run(), table=table_source(step_time=both))
    assert compare(base, run(69, 69, 69)).base_ns == 69_000_000


@pytest.mark.parametrize("count", [5, 40])
def test_the_bounds_hold_the_true_change_about_as_often_as_they_claim(count: int) -> None:
    random = np.random.default_rng(7)
    trials, inside = 60, 0
    for _ in range(trials):
        result = compare(run(*random.normal(100, 5, count)), run(*random.normal(100, 5, count)))
        assert result.change_low is not None
        assert result.change_high is not None
        inside += result.change_low <= 0 <= result.change_high
    assert inside / trials >= 0.85


def test_runs_that_did_different_things_are_not_compared() -> None:
    other = replace(run(*STEADY), summary=replace(SUMMARY, device="CPU", batch_size=128))
    with pytest.raises(
        NotComparable, match=r"^the runs differ in device \(NVIDIA H200 against CPU\), batch size \(64 against 128\)$"
    ):
        compare(run(*STEADY), other)


def test_profiled_and_unprofiled_times_are_not_compared() -> None:
    with pytest.raises(NotComparable, match=r"step times \(unprofiled against profiled\)"):
        compare(run(*STEADY), run(*STEADY, profiled=True))


def test_a_label_counts_only_where_both_runs_have_a_manifest() -> None:
    renamed = replace(run(*STEADY), summary=replace(SUMMARY, label="other"))
    assert compare(run(*STEADY), renamed).change == 0
    with pytest.raises(NotComparable, match=r"workload \(resnet18 against other\)"):
        compare(replace(run(*STEADY), manifest={}), replace(renamed, manifest={}))


def test_what_is_unknown_on_one_side_does_not_differ() -> None:
    assert compare(run(*STEADY), replace(run(*STEADY), summary=replace(SUMMARY, batch_size=None))).change == 0


def test_a_run_without_steps_or_step_times_is_not_comparable() -> None:
    with pytest.raises(NotComparable, match=r"^NEW has no step times"):
        compare(run(*STEADY), reports.stepless_report())
    with pytest.raises(NotComparable, match="has no step times above zero"):
        compare(run(), run(*STEADY))

    def table(name: str) -> pl.DataFrame:
        raise MissingData(f"no {name}")

    with pytest.raises(NotComparable, match=r"has no per-step times: no step_time$"):
        compare(replace(run(), table=table), run(*STEADY))


def test_an_unknown_metric_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="no metric loss; there are step_time, step_time_median, step_time_p90"):
        compare(run(*STEADY), run(*STEADY), metric="loss")
