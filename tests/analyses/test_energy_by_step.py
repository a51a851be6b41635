from __future__ import annotations

import pytest

from analyze.analyses.energy_by_step import energy_by_step
from analyze.errors import MissingData
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.analyses.test_telemetry_by_step import logged, sample
from tests.builders import table

H200 = TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0, name="NVIDIA H200"),))


def counter(seconds, joules):
    return sample(seconds, joules, "energy_j", unit="J")


def test_the_counter_s_difference_over_the_steps():
    """Samples on the edges of [1, 3): 1000 J to 1600 J over two steps of 32 samples."""
    telemetry = table("telemetry", counter(0, 700.0), counter(1, 1000.0), counter(2, 1200.0), counter(3, 1600.0))
    log = table("step_log", logged(1, 1, 2) | {"samples": 32}, logged(2, 2, 3) | {"samples": 32})
    found = energy_by_step(telemetry, log, H200)
    assert found.select("source", "energy_j", "low_j", "high_j", "energy_per_step_j", "energy_per_sample_j").rows() == [
        ("counter", 600.0, 600.0, 600.0, 300.0, 600 / 64)
    ]
    assert found.select("mean_power_w", "idle_fraction").rows() == [(300.0, 75 * 2 / 600)]


def test_between_samples_the_edges_are_uncertain():
    """A step [1.5, 3): a counter read at 1 (100 J), 2 (200 J), 3 (300 J): 150 J, of which 50 are a guess."""
    telemetry = table("telemetry", counter(1, 100.0), counter(2, 200.0), counter(3, 300.0))
    found = energy_by_step(telemetry, table("step_log", logged(1, 1.5, 3)))
    assert found.select("energy_j", "low_j", "high_j", "energy_per_sample_j", "idle_fraction").rows() == [
        (150.0, 100.0, 200.0, None, None)
    ]


def test_without_a_counter_power_is_integrated_and_its_averaging_said():
    """200 W at 0, 400 W at 1 and 2: 300 + 400 J, off by a tenth."""
    telemetry = table("telemetry", sample(0, 200.0), sample(1, 400.0), sample(2, 400.0))
    found = energy_by_step(telemetry, table("step_log", logged(1, 0, 2)))
    assert found.select("source", "energy_j", "low_j", "high_j", "averaging_s").rows() == [("power", 700.0, 630.0, 770.0, 1.0)]


def test_phases_are_apart_and_one_that_the_samples_do_not_span_is_left_out():
    telemetry = table("telemetry", counter(0, 0.0), counter(1, 100.0), counter(2, 300.0))
    log = table("step_log", logged(1, 0, 1, "baseline"), logged(2, 1, 2, "times"), logged(3, 2, 9, "idle"))
    assert energy_by_step(telemetry, log).select("phase", "energy_j").rows() == [("baseline", 100.0), ("times", 200.0)]


def test_a_phase_that_is_interrupted_does_not_pay_for_what_comes_between():
    """Baseline [0,1) and [2,3) with a profiled window between: 100 + 100 J over 2 s, not 500 over 3."""
    telemetry = table("telemetry", counter(0, 0.0), counter(1, 100.0), counter(2, 400.0), counter(3, 500.0))
    log = table("step_log", logged(1, 0, 1), logged(2, 1, 2, "times"), logged(3, 2, 3))
    found = energy_by_step(telemetry, log)
    assert found.select("phase", "steps", "span_ns", "energy_j", "mean_power_w").rows() == [
        ("baseline", 2, 2_000_000_000, 200.0, 100.0),
        ("times", 1, 1_000_000_000, 300.0, 300.0),
    ]


def test_no_samples_over_the_steps():
    with pytest.raises(MissingData, match="energy or power"):
        energy_by_step(table("telemetry", sample(0, 50.0, "temperature_c")), table("step_log", logged(1, 0, 1)))
    with pytest.raises(MissingData):
        energy_by_step(table("telemetry", sample(0.5, 50.0)), table("step_log", logged(1, 0, 1)))
