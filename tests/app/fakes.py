"""A finished diagnosis without a process behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.report.table_rows import Page, csv_text, rows

if TYPE_CHECKING:
    from analyze.findings.model import Report

SECOND = 1_000_000_000
START_NS = 1_764_625_385 * SECOND


class Finished:
    """Looks like views.shell.diagnosis.Diagnosis when all is done."""

    def __init__(self, report: Report | None, *, state: str = "done", error: str = "") -> None:
        self.report = report
        self.state = state
        self.error = error
        self.fraction, self.text, self.started = 0.25, "reading rank0.json", 0.0
        self.left: list[str] = []

    def watch(self, session: str) -> None:
        pass

    def leave(self, session: str) -> None:
        self.left.append(session)

    def rows(self, name: str, page: Page) -> tuple[int, pl.DataFrame]:
        return rows(self.report.table(name), page)

    def csv(self, name: str) -> str:
        return csv_text(self.report.table(name))


def telemetry(seconds: int = 20) -> pl.DataFrame:
    """A GPU and a host, one sample a second; the second GPU does not tell its power."""
    samples = []
    for second in range(seconds):
        time_ns = START_NS + second * SECOND
        for uuid, busy in (("GPU-a", 90.0 - second), ("GPU-b", 10.0)):
            samples.append((time_ns, "box", "nvml", uuid, "utilisation_percent", busy, "%"))
            samples.append((time_ns, "box", "nvml", uuid, "memory_used_bytes", 4.0 * 1024**3, "bytes"))
        samples.append((time_ns, "box", "nvml", "GPU-a", "power_w", 300.0 + second, "W"))
        samples.append((time_ns, "box", "nvml", "GPU-b", "power_w", None, "W"))
        samples.append((time_ns, "box", "nvml", "GPU-a", "temperature_c", 50.0 + second / 4, "°C"))
        samples.append((time_ns, "box", "psutil", None, "cpu_percent", 35.0, "%"))
        samples.append((time_ns, "box", "psutil", None, "disk_read_bytes", 1e6 * second, "bytes"))
        samples += [(time_ns, "box", "psutil", None, f"cpu_percent_per_core.{core}", 20.0 * core, "%") for core in range(4)]
    names = ["time_ns", "host", "source", "device_uuid", "metric", "value", "unit"]
    frame = pl.DataFrame(samples, schema=names, orient="row")
    return frame.with_columns(pl.col("host", "source", "device_uuid", "metric", "unit").cast(pl.Categorical))


def step_log(steps: int = 12) -> pl.DataFrame:
    """A step each second: settling, baseline, times, explanations."""
    phases = ["settling", "settling", *["baseline"] * 5, *["times"] * 3, *["explanations"] * 2]
    return pl.DataFrame(
        {
            "rank": [0] * steps,
            "step": range(steps),
            "start_ns": [START_NS + (2 + step) * SECOND for step in range(steps)],
            "dur_ns": [900_000_000] * steps,
            "input_wait_ns": [200_000_000] * steps,
            "samples": [64] * steps,
            "loss": [1.0] * steps,
            "phase": phases[:steps],
        }
    ).with_columns(pl.col("phase").cast(pl.Categorical))


def steps() -> pl.DataFrame:
    """Two steps of 10 ms."""
    return pl.DataFrame({"step": [7, 8], "start_ns": [0, 10_000_000], "dur_ns": [10_000_000] * 2, "cycle": [0, 0]})


def kernels(name: str = "gemm_kernel") -> pl.DataFrame:
    """Two kernels in step 7, one in step 8."""
    return pl.DataFrame(
        {
            "id": [1, 2, 3],
            "device": [0, 0, 0],
            "stream": [7, 7, 7],
            "name": [name, "relu", name],
            "kind": ["gemm", "elementwise", "gemm"],
            "start_ns": [1_000_000, 4_000_000, 12_000_000],
            "dur_ns": [2_000_000, 1_000_000, 3_000_000],
            "step": [7, 7, 8],
        }
    )


def launches() -> pl.DataFrame:
    """A launch and a wait in step 7."""
    return pl.DataFrame(
        {
            "id": [10, 11],
            "name": ["cudaLaunchKernel", "cudaStreamSynchronize"],
            "thread": ["100", "100"],
            "start_ns": [500_000, 3_000_000],
            "dur_ns": [10_000, 900_000],
            "step": [7, 7],
            "blocking": ["none", "stream"],
        }
    )
