"""Pinned copies that kernels queue behind are found; copies beside the kernels, pageable ones and hidden ones are not."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "exposed-copy"
PINNED = "HtoD (Pinned -> Device)"


def training(
    copy_us: float = 2_000, kind: str = PINNED, *, stream: int = 7, host_us: float = 100, inside: bool = True
) -> Timeline:
    """Steps of Python, an asynchronous copy of 40 MB and a kernel of 3,000."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(host_us)
            if inside:
                with line.op("aten::copy_", input_dims="[[64, 3, 224, 224]]"):
                    line.copy(copy_us, 40_000_000, kind, stream=stream)
            line.kernel(3_000)
    return line


def test_prefetched_the_step_is_the_kernels() -> None:
    finding = one(training().workspace(baseline_step_ms=5.0), ID)
    assert finding.step_saving_ns == pytest.approx(2_000 * US, rel=0.01)
    assert finding.step_saving_low_ns == pytest.approx(2_000 * 0.7 * US, rel=0.1)
    assert finding.step_saving_high_ns == pytest.approx(2_000 * 1.3 * US, rel=0.1)
    assert finding.basis == "replayed"
    assert finding.message.startswith(
        "40 MB a step come from pinned memory at 20 GB/s on a stream that computes (2 ms with no kernel"
    )


def test_it_says_where() -> None:
    finding = one(training().workspace(), ID)
    assert finding.location == "aten::copy_ [[64, 3, 224, 224]]"
    assert finding.evidence.select("bytes", "op").rows() == [(40_000_000, "aten::copy_")] * 4


def test_silent_on_a_stream_of_its_own() -> None:
    assert findings(training(stream=20).workspace(), ID) == ()


def test_silent_about_pageable_memory() -> None:
    """Those copies hold the host, which is another finding."""
    assert findings(training(kind="HtoD (Pageable -> Device)").workspace(), ID) == ()


def test_silent_about_copies_to_the_host() -> None:
    assert findings(training(kind="DtoH (Device -> Pinned)").workspace(), ID) == ()


def test_silent_where_the_host_sets_the_pace() -> None:
    assert findings(training(host_us=9_000).workspace(), ID) == ()


def test_silent_below_the_floor() -> None:
    assert findings(training(copy_us=50).workspace(), ID) == ()


def test_silent_outside_steps() -> None:
    line = training(inside=False)
    line.copy(50_000, 40_000_000, PINNED)
    assert findings(line.workspace(), ID) == ()
