"""Kernels of several streams overlap as far as they were recorded to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from analyze.replay.concurrency import concurrency
from analyze.replay.program import NOTHING, Program


def program(ids: list[int], durations: list[float], steps: int = 1) -> Program:
    """One call that starts all the work, each on a stream of its own."""
    nothing, count = np.zeros(1), len(ids)
    return Program(
        gap=nothing, gap_events=nothing, cost=nothing, wake=nothing, call_events=nothing, waits=np.array([NOTHING]),
        call_id=np.array([0]), call_start=np.array([0]), gap_start=np.array([0]), work_call=np.zeros(count, np.int64),
        work_dur=np.array(durations), latency=np.zeros(count), spacing=np.zeros(count), work_stream=np.arange(count),
        depends=np.full(count, NOTHING), work_id=np.array(ids), work_keep=np.ones(count, np.bool_), streams=count,
        steps=steps, start_ns=0, end_ns=100,
    )  # fmt: skip


def kernels(*rows: tuple[int, int, int, int, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["id", "device", "start_ns", "dur_ns", "kind"], orient="row")


def test_a_device_is_busy_for_the_union_of_what_ran():
    # 0 to 40 and 30 to 60: busy 60 of the summed 70
    one = program([1, 2], [40.0, 30.0])
    found = concurrency(one, kernels((1, 0, 0, 40, "gemm"), (2, 0, 30, 30, "gemm")))
    assert found.busy_share == pytest.approx([60 / 70, 60 / 70])
    assert found.floor_ns(one) == pytest.approx(60)
    assert found.floor_ns(replace(one, steps=2)) == pytest.approx(30)


def test_shorter_and_dropped_kernels_leave_less():
    one = program([1, 2], [40.0, 30.0])
    found = concurrency(one, kernels((1, 0, 0, 40, "gemm"), (2, 0, 30, 30, "gemm")))
    assert found.floor_ns(replace(one, work_dur=np.array([5.0, 30.0]))) == pytest.approx(30)
    assert found.floor_ns(replace(one, work_keep=np.array([True, False]))) == pytest.approx(40 * 60 / 70)


def test_copies_and_collectives_run_beside_kernels_on_purpose():
    one = program([1, 2, 3], [40.0, 30.0, 50.0])
    # 3 is a copy, which the table of kernels does not hold
    found = concurrency(one, kernels((1, 0, 0, 40, "gemm"), (2, 0, 40, 30, "collective")))
    assert found.busy_share.tolist() == [1.0, 0.0, 0.0]
    assert found.floor_ns(one) == 40


def test_the_busiest_device_counts():
    one = program([1, 2], [40.0, 30.0])
    assert concurrency(one, kernels((1, 0, 0, 40, "gemm"), (2, 1, 0, 30, "gemm"))).floor_ns(one) == 40


def test_without_kernels_there_is_no_floor():
    one = program([1], [40.0])
    assert concurrency(one, None).floor_ns(one) == 0
    assert concurrency(program([], []), None).floor_ns(program([], [])) == 0
