"""Underfilled kernels on a busy device with memory left are a note in samples per second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from analyze import engine
from tests.findings.recorded import Op, findings, one, recorded

if TYPE_CHECKING:
    from analyze.engine import Workspace

ID = "small-batch"


def kernel(dur_ms: float, blocks: int | None, name: str = "vectorized_elementwise_kernel") -> Op:
    return Op(name="aten::gelu", kernels=[(name, dur_ms)], more={"blocks": blocks, "threads_per_block": 128})


def with_memory(workspace: Workspace, used: int) -> Workspace:
    workspace._done["device_state"] = pl.DataFrame({"memory_used_bytes": [used], "memory_total_bytes": [100]})
    return workspace


def test_a_note_in_samples_per_second() -> None:
    # 27 blocks on 108 multiprocessors: twice the batch takes no longer; the full kernel takes twice as long
    note = one(with_memory(recorded(kernel(3.0, 27), kernel(1.0, 108, "a_full_kernel"), manifest={"batch_size": 40}), 20), ID)
    assert (note.kind, note.step_saving_ns) == ("note", None)
    # 2 x 4 ms / 5 ms; the first of four steps begins 50 µs late
    assert "take 75% of its kernel time, and 20% of its memory is in use" in note.message
    assert "1.6 times the samples per second, 15,9" in note.message
    assert note.location == "batch size 40"
    assert "changes training" in note.caveat


def test_without_memory_figures_it_is_less_sure() -> None:
    note = one(recorded(kernel(3.0, 27)), ID)
    assert "memory use is not recorded" in note.message
    assert note.confidence < one(with_memory(recorded(kernel(3.0, 27)), 20), ID).confidence


def test_silent_where_memory_is_used() -> None:
    assert findings(with_memory(recorded(kernel(3.0, 27)), 70), ID) == ()


def test_silent_where_kernels_fill_the_device() -> None:
    assert findings(recorded(kernel(3.0, 500), kernel(1.0, 27)), ID) == ()


def test_silent_where_the_gain_is_small() -> None:
    # 100 of 108: nearly full, twice the blocks take 1.85 times as long
    assert findings(recorded(kernel(3.0, 100)), ID) == ()


def test_silent_where_the_device_waits_for_the_host() -> None:
    # 1 µs of kernel for 10 µs of host
    assert findings(recorded(*[kernel(0.001, 27)] * 50), ID) == ()


def test_the_optimizer_does_not_grow_with_the_batch() -> None:
    assert findings(recorded(kernel(3.0, 27, "multi_tensor_apply_kernel"), kernel(1.0, 500)), ID) == ()


def test_without_grids_it_cannot_look() -> None:
    outcome = recorded(kernel(1.0, None)).outcome(*engine.detectors()[ID])
    assert outcome.state == "skipped"
    assert "blocks" in (outcome.reason or "")


@pytest.mark.parametrize(("share", "said"), [(59, True), (61, False)])
def test_the_memory_threshold(share: int, said: bool) -> None:
    assert bool(findings(with_memory(recorded(kernel(3.0, 27)), share), ID)) is said
