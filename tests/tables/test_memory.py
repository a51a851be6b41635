from __future__ import annotations

import pytest

from analyze.errors import MissingData
from analyze.tables.memory import memory
from tests.builders import family


def event(time_ns, bytes_, *, device_type=1, device=0, **more):
    return {"name": "[memory]", "start_ns": time_ns, "bytes": bytes_, "device_type": device_type, "device": device} | more


def test_events_in_time_order_with_host_and_device_apart():
    events = [
        event(20, -400, total_allocated_bytes=100),
        event(10, 500, total_allocated_bytes=500),
        event(15, 64, device_type=0, device=-1),
    ]
    table = memory(family("memory_events", *events))
    assert table.select("time_ns", "device_type", "device", "bytes", "allocated_bytes").rows() == [
        (10, 1, 0, 500, 500),
        (15, 0, -1, 64, None),
        (20, 1, 0, -400, 100),
    ]


def test_addresses_beyond_32_bits_are_exact():
    assert memory(family("memory_events", event(0, 1, address=139_853_421_117_440)))["address"].to_list() == [139_853_421_117_440]


def test_a_free_of_a_block_from_before_the_window_keeps_its_sign_and_invents_no_level():
    assert memory(family("memory_events", event(0, -400))).select("bytes", "allocated_bytes").rows() == [(-400, None)]


def test_without_memory_events():
    with pytest.raises(MissingData, match="profile_memory=True"):
        memory(family("memory_events"))
