"""Waits of the host for the device: found where the device then idles, and nowhere else."""

from __future__ import annotations

import polars as pl
import pytest

from tests.builders import table
from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "sync-in-step"
D2H = "DtoH (Device -> Pageable)"


def reading(*, size: int = 4, kernel_us: float = 2_000, host_us: float = 1_000) -> Timeline:
    """Steps of Python, a kernel, a value read, Python."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(host_us)
            line.kernel(kernel_us)
            with line.op("aten::item"), line.op("aten::_local_scalar_dense"):
                line.copy(2, size, D2H)
                line.synchronise("cudaStreamSynchronize")
            line.python(host_us)
    return line


def test_not_reading_lets_host_and_device_overlap() -> None:
    """Kernel from 1,005 to 3,005, the value at 3,007, the call until 3,011, Python until 4,011; without it 2,004 on the host."""
    finding = one(reading().workspace(baseline_step_ms=4.011), ID)
    assert finding.step_saving_ns == pytest.approx((4_011 - 2_004) * US, rel=0.01)
    # cautious: the calls stay without their waits
    assert finding.step_saving_low_ns == pytest.approx((4_011 - 2_012) * 0.85 * US, rel=0.03)
    assert finding.basis == "replayed"
    assert finding.message.startswith("The host stops 2 times a step for the GPU (")


def test_it_says_which_operator_and_which_line() -> None:
    line = reading()
    assert one(line.workspace(), ID).location == "aten::_local_scalar_dense"
    line.frame("train.py(30): step", 0, line.now + 1)
    finding = one(line.workspace(), ID)
    assert finding.location == "train.py(30): step · aten::_local_scalar_dense"
    assert finding.evidence["source"].unique().to_list() == ["train.py(30): step"]
    assert finding.evidence["op"].unique().to_list() == ["aten::_local_scalar_dense"]


@pytest.mark.parametrize(
    "name", ["cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "hipDeviceSynchronize"]
)
def test_every_kind_of_wait_counts(name: str) -> None:
    """Kernel until 3,005, Python until 4,005; without the wait 2,004 + 4 on the host."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            line.kernel(2_000)
            line.synchronise(name)
            line.python(1_000)
    finding = one(line.workspace(baseline_step_ms=4.005), ID)
    assert finding.step_saving_ns == pytest.approx((4_005 - 2_008) * US, rel=0.01)
    assert name in finding.message


def test_silent_where_the_device_stays_busy_through_the_wait() -> None:
    """The host waits for the kernel before the last: the device has the next one already."""
    line = Timeline()
    for _ in range(6):
        with line.step():
            line.kernel(3_000)
            before = line.free[7]
            line.kernel(3_000)
            line.synchronise("cudaEventSynchronize", until=before)
            line.python(100)
    assert findings(line.workspace(), ID) == ()


def test_silent_where_the_host_has_nothing_to_do_anyway() -> None:
    """One wait a step for 5,000 of device work, and 12 of host time besides."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.kernel(5_000)
            line.synchronise()
    assert findings(line.workspace(), ID) == ()


def test_silent_about_large_results() -> None:
    """They are copies to the host, a finding of their own."""
    assert findings(reading(size=1 << 20).workspace(), ID) == ()


def test_silent_about_the_wait_of_a_pageable_copy() -> None:
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            line.kernel(2_000)
            with line.op("aten::copy_"):
                line.copy(500, 10_000_000)
                line.synchronise("cudaStreamSynchronize")
            line.python(1_000)
    assert findings(line.workspace(), ID) == ()


def test_silent_about_the_allocator() -> None:
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            line.kernel(2_000)
            line.synchronise("cudaFree")
            line.python(1_000)
    assert findings(line.workspace(), ID) == ()


def test_silent_without_waits() -> None:
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            line.kernel(2_000)
    assert findings(line.workspace(), ID) == ()


def test_silent_about_other_threads() -> None:
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(1_000)
            line.kernel(500)
    line.synchronise(until=0)
    row = line.events["runtime_events"][-1]
    row |= {"thread": "9", "start_ns": 100, "dur_ns": 3_000 * US}
    assert findings(line.workspace(), ID) == ()


def test_what_a_thread_that_exchanges_gradients_waits_for_is_not_counted() -> None:
    workspace = reading().workspace()
    waits = workspace.frame("launches").filter(pl.col("blocking").cast(pl.String).is_in(["stream", "copy"]))
    calls = [
        {
            "kind": "all-reduce",
            "process": row["process"],
            "thread": row["thread"],
            "start_ns": row["start_ns"] - 1,
            "dur_ns": 10 * US,
        }
        for row in waits.to_dicts()
    ]
    assert findings(reading().workspace(collectives=table("collectives", *calls)), ID) == ()
    elsewhere = [call | {"thread": "another"} for call in calls]
    assert one(reading().workspace(collectives=table("collectives", *elsewhere)), ID)
