from __future__ import annotations

import pytest

from analyze.analyses.telemetry_by_step import telemetry_by_step
from analyze.errors import MissingData
from tests.builders import step_times, table, timed

SECOND = 1_000_000_000


def sample(seconds, value, metric="power_w", **more):
    row = {"time_ns": int(seconds * SECOND), "metric": metric, "value": value, "host": "h", "source": "nvml"}
    return row | {"device_uuid": "GPU-1", "unit": "W"} | more


def logged(step, start, end, phase="baseline"):
    return {"rank": 0, "step": step, "start_ns": int(start * SECOND), "dur_ns": int((end - start) * SECOND), "phase": phase}


def test_samples_belong_to_the_step_in_which_they_were_taken():
    telemetry = table("telemetry", sample(0.5, 100.0), sample(0.9, 200.0), sample(1.0, 400.0), sample(3.5, 900.0))
    log = table("step_log", logged(1, 0, 1), logged(2, 1, 2, "times"))
    found = telemetry_by_step(telemetry, log)
    assert found.select("step", "phase", "samples", "mean", "min", "max").rows() == [
        (1, "baseline", 2, 150.0, 100.0, 200.0),
        (2, "times", 1, 400.0, 400.0, 400.0),
    ]


def test_an_unsupported_metric_stays_null_and_devices_are_apart():
    telemetry = table("telemetry", sample(0.5, None), sample(0.5, 300.0, device_uuid="GPU-2"))
    found = telemetry_by_step(telemetry, table("step_log", logged(1, 0, 1)))
    assert found.select("device_uuid", "samples", "mean").rows() == [("GPU-1", 0, None), ("GPU-2", 1, 300.0)]


def test_without_a_step_log_the_trace_s_steps_are_used():
    telemetry = table("telemetry", sample(0.5, 100.0))
    found = telemetry_by_step(telemetry, step_time=step_times(timed(4, 0, SECOND)))
    assert found.select("step", "phase", "mean").rows() == [(4, None, 100.0)]


def test_samples_outside_every_step():
    with pytest.raises(MissingData, match="no telemetry sample"):
        telemetry_by_step(table("telemetry", sample(9, 100.0)), table("step_log", logged(1, 0, 1)))
    with pytest.raises(MissingData, match="no step times"):
        telemetry_by_step(table("telemetry", sample(9, 100.0)))
