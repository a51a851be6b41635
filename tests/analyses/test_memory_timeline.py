from __future__ import annotations

import pytest

from analyze.analyses.memory_peak import memory_peak
from analyze.analyses.memory_timeline import memory_timeline
from analyze.errors import MissingData
from tests.builders import family, on_thread, operator, table


def event(time_ns, bytes_, allocated=None, reserved=None, address=1, **more):
    row = {"time_ns": time_ns, "bytes": bytes_, "allocated_bytes": allocated, "reserved_bytes": reserved, "address": address}
    return row | {"device_type": 1, "device": 0, "thread": "1"} | more


def test_unused_memory_is_what_is_reserved_and_not_allocated():
    found = memory_timeline(table("memory", event(0, 100, 300, 1000), event(5, -50, 250, 1000)))
    assert found.select("allocated_bytes", "unused_bytes", "change_bytes").rows() == [(300, 700, 100), (250, 750, 50)]


def test_a_writer_without_totals_leaves_the_level_unknown_and_frees_of_old_blocks_do_not_make_it_negative():
    found = memory_timeline(table("memory", event(0, -400, 0, 0), event(5, 100, 0, 0)))
    assert found.select("allocated_bytes", "reserved_bytes", "change_bytes").rows() == [(None, None, -400), (None, None, -300)]


def test_host_and_device_have_their_own_levels():
    memory = table("memory", event(0, 100, 100, 500), event(1, 7, 7, 0, device_type=0, device=-1), event(2, 100, 200, 500))
    found = memory_timeline(memory)
    assert found.select("device_type", "allocated_bytes", "reserved_bytes").rows() == [(0, 7, None), (1, 100, 500), (1, 200, 500)]


def test_the_peak_is_held_by_what_is_alive_then():
    """Before: 1000. linear allocates 300 and 200 (freed before the peak), gelu 400: the peak of 1700 is held by 1000 + 300 + 400."""
    ops = table("cpu_ops", operator(0, 50, "aten::linear", step=1), operator(60, 90, "aten::gelu", step=1))
    memory = table(
        "memory",
        event(10, 300, 1300, 2000, address=1),
        event(20, 200, 1500, 2000, address=2),
        event(40, -200, 1300, 2000, address=2),
        event(70, 400, 1700, 2000, address=3),
        event(80, -300, 1400, 2000, address=1),
    )
    found = memory_peak(memory_timeline(memory), memory, ops)
    assert found.select("time_ns", "peak_bytes", "reserved_bytes").unique().rows() == [(70, 1700, 2000)]
    assert found.select("held_by", "bytes", "blocks", "step").rows() == [
        ("before the recording", 1000, None, None),
        ("aten::gelu", 400, 1, 1),
        ("aten::linear", 300, 1, 1),
    ]


def test_an_address_used_again_counts_once():
    memory = table("memory", event(0, 100, 100, 500), event(1, -100, 0, 500), event(2, 150, 150, 500))
    found = memory_peak(memory_timeline(memory), memory)
    assert found.select("held_by", "bytes", "blocks").rows() == [("no operator", 150, 1)]


def test_without_totals_the_peak_is_of_the_change_and_nothing_is_said_about_before():
    memory = table("memory", event(0, -400, 0, 0, address=9), event(5, 100, 0, 0), event(6, -100, 0, 0))
    found = memory_peak(memory_timeline(memory), memory)
    assert found.select("time_ns", "peak_bytes", "held_by", "bytes").rows() == [(5, None, "no operator", 100)]


def test_each_device_has_its_own_peak():
    memory = table("memory", event(0, 100, 100, 500), event(3, 70, 70, 500, device=1))
    assert memory_peak(memory_timeline(memory), memory).select("device", "time_ns", "bytes").rows() == [(0, 0, 100), (1, 3, 70)]


def test_memory_recorded_in_the_explaining_window_only_is_shown_at_its_times():
    """Block_0's operators run in the explaining window; the nested one is no holder of its own."""
    allocation = on_thread(1_020, 1_020, "[memory]", bytes=400, address=1, device_type=1, device=0)
    explained = {
        "memory_events": family("memory_events", allocation | {"total_allocated_bytes": 900, "total_reserved_bytes": 2_000}),
        "op_events": family("op_events", on_thread(1_000, 1_100, "aten::linear"), on_thread(1_010, 1_050, "aten::addmm")),
    }
    timeline = memory_timeline(explained=explained)
    assert timeline.select("time_ns", "allocated_bytes", "unused_bytes").rows() == [(1_020, 900, 1_100)]
    found = memory_peak(timeline, cpu_ops=table("cpu_ops", operator(1_000, 1_100, "aten::unrelated")), explained=explained)
    assert found.select("held_by", "bytes").rows() == [("before the recording", 500), ("aten::linear", 400)]


def test_memory_recorded_nowhere():
    with pytest.raises(MissingData, match="profile_memory=True"):
        memory_timeline()
