"""The recording's own cost is measured where unprofiled steps are known, else estimated."""

from __future__ import annotations

import pytest

from tests.findings.recorded import Op, findings, one, recorded

ID = "profiler-overhead"
#: ten operators of 10 µs on the host with kernels of 1 µs: the host sets the pace at 110 µs a step
TINY = [Op(name="aten::add", kernels=[("add_kernel", 0.001)])] * 10


def test_measured_against_unprofiled_steps() -> None:
    note = one(recorded(*TINY, baseline_step_ms=0.080), ID)
    assert note.kind == "note"
    assert "instead of 0.08 ms" in note.message
    assert note.confidence == 0.9
    row = note.evidence.row(0, named=True)
    assert row["unprofiled_step_ns"] == pytest.approx(80_000)
    # ten operators, ten calls and the step's marker
    assert row["events_per_step"] == pytest.approx(21, abs=1)


def test_silent_where_unprofiled_steps_are_as_long() -> None:
    assert findings(recorded(*TINY, baseline_step_ms=0.105), ID) == ()


def test_silent_where_the_device_sets_the_pace() -> None:
    assert findings(recorded(Op(name="aten::mm", kernels=[("gemm", 5.0)])), ID) == ()


def test_estimated_where_unprofiled_steps_are_unknown() -> None:
    # calls 1 µs apart: at the usual cost of an event the recording is most of what is seen
    dense = [Op(name="aten::foreach", kernels=[("add_kernel", 0.0001)] * 30)] * 10
    note = one(recorded(*dense), ID)
    assert "estimated" in note.message
    assert note.confidence == 0.5
    assert note.evidence["unprofiled_step_ns"].to_list() == [None]
