from __future__ import annotations

import pytest

from analyze.analyses.communication_overlap import communication_overlap
from analyze.errors import MissingData
from tests.builders import step_times, table, timed, work


def nccl(start, end, **more):
    return work(start, end, "ncclDevKernel_AllReduce", kind="collective", **({"stream": 20} | more))


def test_the_hidden_part_of_the_communication():
    """Collective [0,100), compute [40,80) and [90,140): 50 of 100 hidden."""
    found = communication_overlap(table("kernels", nccl(0, 100), work(40, 80), work(90, 140)))
    assert found.rows() == [(0, None, 100, 90, 50, 0.5)]


def test_no_overlap_is_zero_and_a_step_without_communication_null():
    steps = step_times(timed(1, 0, 550), timed(2, 550, 800))
    found = communication_overlap(table("kernels", nccl(0, 500), work(600, 700)), steps)
    assert found.select("step", "communication_ns", "overlap_fraction").rows() == [(1, 500, 0.0), (2, 0, None), (None, 500, 0.0)]


def test_a_collective_on_another_device_hides_nothing():
    kernels = table("kernels", nccl(0, 100), work(0, 100, device=1))
    assert communication_overlap(kernels).select("device", "overlap_fraction").rows() == [(0, 0.0), (1, None)]


def test_without_collectives_there_is_nothing_to_say():
    with pytest.raises(MissingData, match="no collective"):
        communication_overlap(table("kernels", work(0, 100)))
