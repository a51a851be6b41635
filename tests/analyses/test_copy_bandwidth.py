from __future__ import annotations

from analyze.analyses.copy_bandwidth import copy_bandwidth
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import copy, table

H200 = TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0, name="NVIDIA H200"),))


def test_rates_against_the_link():
    """63 MB in 2 ms and 63 MB in 4 ms: 126 MB in 6 ms is 21 GB/s, a third of the 63 GB/s link."""
    copies = table("copies", copy(0, 2_000_000, bytes=63_000_000), copy(3_000_000, 7_000_000, bytes=63_000_000))
    found = copy_bandwidth(copies, H200)
    assert found.select("count", "bytes", "total_ns", "bytes_per_s", "link_fraction").rows() == [
        (2, 126_000_000, 6_000_000, 21e9, 1 / 3)
    ]
    assert found.select("p50_bytes_per_s", "max_bytes_per_s").rows() == [((31.5e9 + 15.75e9) / 2, 31.5e9)]


def test_small_copies_are_counted_but_set_no_rate():
    copies = table("copies", copy(0, 1_000, bytes=100), copy(2_000, 3_000, bytes=200))
    assert copy_bandwidth(copies).select("small_count", "p50_bytes_per_s", "max_bytes_per_s").rows() == [(2, None, None)]


def test_kinds_of_memory_and_directions_are_apart_and_unknown_sizes_left_out():
    copies = table(
        "copies",
        copy(0, 1_000, bytes=100_000),
        copy(0, 1_000, bytes=100_000, host_memory="pinned"),
        copy(0, 1_000, bytes=100_000, direction="device-to-device", host_memory=None),
        copy(0, 1_000),
    )
    found = copy_bandwidth(copies, H200)
    assert found["count"].to_list() == [1, 1, 1]
    on_device = found.filter(found["host_memory"].is_null())
    assert on_device["link_bytes_per_s"].to_list() == [2.4e12]


def test_an_unknown_device_has_no_link_rate_and_empty_durations_no_rate():
    found = copy_bandwidth(table("copies", copy(0, 0, bytes=200)))
    assert found.select("bytes_per_s", "link_bytes_per_s", "link_fraction", "busy_ns").rows() == [(None, None, None, 0)]
