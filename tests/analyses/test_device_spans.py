"""Kernels of one rank as spans in which its device had something of it to do."""

from __future__ import annotations

import pytest

from analyze.analyses.device_spans import device_spans
from analyze.analyses.own_time import COLUMNS as OWN
from analyze.analyses.rank_state import COLUMNS as STATE
from analyze.errors import MissingData
from tests.builders import frame, table, work

US = 1_000
STEPS = frame(OWN, {"step": 0, "start_ns": 0, "step_ns": 500 * US}, {"step": 1, "start_ns": 500 * US, "step_ns": 500 * US})


def _kernel(start, end, **more):
    return work(start * US, end * US, **({"kind": "gemm"} | more))


def _spans(*kernels, uuid="GPU-a", manifest=None):
    state = frame(STATE, {"device_uuid": uuid})
    return device_spans(table("kernels", *kernels), STEPS, state, manifest)


def test_kernels_that_follow_one_another_are_one_span():
    found = _spans(_kernel(10, 50), _kernel(60, 90), _kernel(150, 200), _kernel(150, 160, stream=8))
    assert found.rows() == [("GPU-a", 10 * US, 80 * US), ("GPU-a", 150 * US, 50 * US)]


def test_outside_the_steps_nothing_counts_and_collectives_never_do():
    found = _spans(_kernel(-50, 20), _kernel(300, 400, kind="collective"), _kernel(980, 1_200))
    assert found.rows() == [("GPU-a", 0, 20 * US), ("GPU-a", 980 * US, 20 * US)]


def test_only_the_device_that_computes_most_is_told():
    found = _spans(_kernel(10, 50), _kernel(100, 120, device=1))
    assert found.rows() == [("GPU-a", 10 * US, 40 * US)]


def test_without_an_id_sharing_is_not_known():
    with pytest.raises(MissingData, match="does not say which device"):
        _spans(_kernel(10, 50), uuid=None)


def test_a_rank_alone_on_its_host_shares_nothing():
    with pytest.raises(MissingData, match="alone on its host"):
        _spans(_kernel(10, 50), manifest={"local_world_size": 1})
    assert _spans(_kernel(10, 50), manifest={"local_world_size": 2}).height == 1
