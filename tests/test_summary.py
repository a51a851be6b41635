"""The numbers at the top of a report, from hand-made recordings."""

from __future__ import annotations

from typing import Any

import pytest

from analyze.summary import step_time_of, summarise
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import table
from tests.timeline import A100, US, Timeline


def training(steps: int = 4, *, device: str | None = A100, kernel_us: float = 600) -> Timeline:
    """Steps of 1,000: 996 in Python, then a kernel and, before the next marker, its end."""
    line = Timeline(device)
    for _ in range(steps):
        with line.step():
            line.python(1_000 - kernel_us - 5)
            line.kernel(kernel_us)
            line.synchronise()
    return line


def log(*durations_us: float, phase: str = "baseline", samples: int | None = None):
    rows = [
        {"rank": 0, "step": n, "start_ns": n, "dur_ns": round(us * US), "phase": phase, "samples": samples}
        for n, us in enumerate(durations_us)
    ]
    return table("step_log", *rows)


class TestStepTime:
    @staticmethod
    def of(line: Timeline | None = None, **sources: Any):
        return step_time_of((line or training()).workspace(**sources))

    def test_profiled_steps_stand_where_nothing_else_is_known(self) -> None:
        found = self.of()
        assert (found.mean_ns, found.median_ns, found.count) == (1_000 * US, 1_000 * US, 4)
        assert (found.profiled, found.source, found.inferred) == (True, "trace", False)
        assert found.profiled_mean_ns == 1_000 * US

    def test_unprofiled_steps_of_the_log_are_better(self) -> None:
        found = self.of(step_log=log(700, 800, 800, 900, 1_300))
        assert (found.mean_ns, found.median_ns, found.count) == (900 * US, 800 * US, 5)
        assert (found.profiled, found.source) == (False, "step log")
        assert (found.p10_ns, found.p90_ns) == (pytest.approx(740 * US), pytest.approx(1_140 * US))
        assert found.profiled_mean_ns == 1_000 * US

    def test_a_log_of_other_phases_is_not(self) -> None:
        assert self.of(step_log=log(700, phase="settling")).profiled

    def test_a_given_step_time_is_best(self) -> None:
        found = self.of(step_log=log(700), baseline_step_ms=0.5)
        assert (found.mean_ns, found.median_ns, found.count) == (500_000, 500_000, 0)
        assert (found.p10_ns, found.p90_ns, found.source) == (None, None, "--baseline-step-ms")

    def test_without_steps_there_is_none(self) -> None:
        line = Timeline()
        line.kernel(10)
        assert self.of(line) is None


class TestOnADevice:
    found = summarise(training().workspace(), "trace.json")

    def test_parts_add_up_to_the_step(self) -> None:
        parts = self.found.step_parts_ns
        assert sum(parts.values()) == pytest.approx(1_000 * US, rel=1e-3)
        assert parts["compute"] == pytest.approx(600 * US, rel=0.01)
        assert self.found.host_parts_ns == {}

    def test_the_floor_is_the_step_with_a_device_that_never_idles(self) -> None:
        assert self.found.floor_ns == pytest.approx(600 * US, rel=0.01)

    def test_busy_is_a_share_of_the_step(self) -> None:
        assert self.found.device_busy_fraction == pytest.approx(0.6)
        assert self.found.busy_without_collectives_fraction == pytest.approx(0.6)

    def test_busy_is_a_share_of_the_unprofiled_step_where_that_is_known(self) -> None:
        assert summarise(training().workspace(baseline_step_ms=0.75), "").device_busy_fraction == pytest.approx(0.8)
        assert summarise(training().workspace(baseline_step_ms=0.5), "").device_busy_fraction == 1.0

    def test_it_names_what_ran_as_far_as_the_trace_says(self) -> None:
        assert (self.found.label, self.found.device, self.found.device_count) == ("trace.json", A100, 1)
        assert (self.found.batch_size, self.found.rank, self.found.world_size, self.found.samples_per_s) == (None,) * 4

    def test_the_replay_s_error_and_the_window_are_told(self) -> None:
        assert self.found.replay_error_fraction == pytest.approx(0, abs=0.01)
        assert self.found.window_ns == (0, 4_000 * US)


MANIFEST = {
    "label": "resnet50",
    "batch_size": 32,
    "world_size": 4,
    "packages": {"torch": "2.14.0", "numpy": None},
    "devices": [{"name": "NVIDIA H200"}],
    "host": {"cpu_model": "EPYC 9654"},
}


class TestManifest:
    def test_it_names_the_run(self) -> None:
        found = summarise(training().workspace(manifest=MANIFEST, rank=2), "trace.json")
        assert (found.label, found.batch_size, found.world_size, found.rank) == ("resnet50", 32, 4, 2)
        assert found.versions == {"torch": "2.14.0"}
        # the trace's own device comes before the manifest's
        assert found.device == A100

    def test_it_names_the_device_where_the_trace_does_not(self) -> None:
        line = training()
        bare = line.workspace(manifest=MANIFEST, trace_info=TraceInfo(producer="kineto-cuda"))
        assert summarise(bare, "").device == "NVIDIA H200"
        unnamed = line.workspace(trace_info=TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0),)))
        assert summarise(unnamed, "").device == "GPU"

    def test_samples_per_second_are_the_batch_by_the_step(self) -> None:
        assert summarise(training().workspace(manifest=MANIFEST), "").samples_per_s == pytest.approx(32_000)

    def test_or_what_the_log_counted(self) -> None:
        """Two steps of 16 in 700 and 900."""
        found = summarise(training().workspace(manifest=MANIFEST, step_log=log(700, 900, samples=16)), "")
        assert found.samples_per_s == pytest.approx(32 / 1_600e-6)


class TestWithoutADevice:
    @staticmethod
    def of(**sources: Any):
        line = Timeline(device=None)
        for _ in range(2):
            with line.step():
                line.load(200)
                with line.op("aten::conv2d"):
                    line.python(500)
                with line.label("Optimizer.step#SGD.step"), line.op("aten::add_"):
                    line.python(300)
        return summarise(line.workspace(**sources), "trace.json")

    def test_host_parts_stand_instead(self) -> None:
        found = self.of()
        assert found.step_parts_ns == {}
        assert found.host_parts_ns == {
            "input_wait": 200 * US,
            "optimizer": 300 * US,
            "backward": 0,
            "forward": 500 * US,
            "other": 0,
        }
        assert (found.device_busy_fraction, found.floor_ns, found.device_count) == (None, None, 0)

    def test_they_are_brought_to_the_step_time_that_is_reported(self) -> None:
        assert self.of(baseline_step_ms=0.5).host_parts_ns["forward"] == 250 * US

    def test_the_processor_is_the_device(self) -> None:
        assert self.of(manifest={"host": {"cpu_model": "EPYC 9654"}}).device == "EPYC 9654"
        assert self.of().device == "CPU"


def test_without_steps_only_names_are_known() -> None:
    line = Timeline()
    line.kernel(10)
    found = summarise(line.workspace(), "trace.json")
    assert (found.step_time, found.step_parts_ns, found.floor_ns, found.window_ns) == (None, {}, None, None)
    assert (found.device, found.replay_error_fraction) == (A100, None)
