"""When a collective on the host was asked for, and when the device had given what it exchanges."""

from __future__ import annotations

import pytest

from analyze.analyses.host_collective_requests import host_collective_requests
from analyze.errors import MissingData
from tests.builders import copy, launch, operator, span, step, table

US = 1_000
STEPS = table("steps", step(0, 0, 500 * US), step(1, 500 * US, 1_000 * US))


def _call(start, end, ident, **more):
    return {"id": ident, "kind": "all-reduce", "process": "1", "thread": "9"} | span(start * US, end * US) | more


def _request(start, end, **more):
    return operator(start * US, end * US, "c10d::allreduce_", **more)


def _found(calls, ops, copies=(), launches=()):
    return host_collective_requests(
        table("collectives", *calls), STEPS, table("cpu_ops", *ops), table("copies", *copies) if copies else None,
        table("launches", *launches) if launches else None,
    ).rows()  # fmt: skip


def test_requests_are_served_in_order():
    calls = [_call(100, 200, 1), _call(200, 300, 2), _call(600, 700, 3)]
    ops = [_request(50, 60), _request(70, 80), _request(590, 600)]
    assert _found(calls, ops) == [(1, 60 * US), (2, 80 * US), (3, 600 * US)]


def test_what_is_still_on_the_device_is_not_ready():
    copies = [
        copy(300 * US, 320 * US, launch_id=7, direction="device-to-host", bytes=4),
        copy(400 * US, 420 * US, launch_id=8, direction="host-to-device", bytes=4),
    ]
    launches = [launch(52 * US, 54 * US, "cudaMemcpyAsync", id=7), launch(55 * US, 57 * US, "cudaMemcpyAsync", id=8)]
    assert _found([_call(100, 400, 1)], [_request(50, 60)], copies, launches) == [(1, 320 * US)]


def test_a_copy_that_another_call_started_does_not_count():
    copies = [copy(300 * US, 320 * US, launch_id=7, direction="device-to-host", bytes=4)]
    assert _found([_call(100, 400, 1)], [_request(50, 60)], copies, [launch(62 * US, 64 * US, "cudaMemcpyAsync", id=7)]) == [
        (1, 60 * US)
    ]


def test_steps_with_other_numbers_of_both_are_left_out():
    calls = [_call(100, 200, 1), _call(200, 300, 2), _call(600, 700, 3)]
    assert _found(calls, [_request(50, 60), _request(590, 600)]) == [(3, 600 * US)]


def test_device_collectives_have_none():
    with pytest.raises(MissingData, match="no request"):
        _found([_call(100, 200, 1, device=0)], [_request(50, 60)])
