from __future__ import annotations

from analyze.analyses.copies_by_kind import copies_by_kind
from tests.builders import copy, table, work

COLUMNS = ("device", "direction", "host_memory", "count", "bytes", "dur_ns", "exposed_ns", "bytes_per_s")


def of(copies, kernels=None):
    return copies_by_kind(copies, kernels).select(COLUMNS).rows()


def test_copies_are_summed_by_direction_and_memory():
    copies = table(
        "copies",
        copy(0, 10, bytes=100),
        copy(20, 50, bytes=300),
        copy(60, 80, bytes=40, host_memory="pinned"),
        copy(90, 91, bytes=8, direction="device-to-host"),
    )
    assert of(copies) == [
        (0, "host-to-device", "pageable", 2, 400, 40, 40, 1e10),
        (0, "host-to-device", "pinned", 1, 40, 20, 20, 2e9),
        (0, "device-to-host", "pageable", 1, 8, 1, 1, 8e9),
    ]


def test_what_kernels_hide_is_not_exposed():
    """0 to 100, of which a kernel covers 30 to 60."""
    found = of(table("copies", copy(0, 100, bytes=100)), table("kernels", work(30, 60)))
    assert found[0][5:7] == (100, 70)


def test_kernels_of_another_device_hide_nothing():
    found = of(table("copies", copy(0, 100, bytes=100)), table("kernels", work(30, 60, device=1)))
    assert found[0][6] == 100


def test_devices_stay_apart():
    found = of(table("copies", copy(0, 10, bytes=100), copy(0, 20, bytes=100, device=1)))
    assert [(row[0], row[5]) for row in found] == [(1, 20), (0, 10)]


def test_unknown_sizes_are_unknown_not_zero():
    assert of(table("copies", copy(0, 10)))[0][4:] == (None, 10, 10, None)


def test_a_copy_between_devices_has_no_host_memory():
    found = of(table("copies", copy(0, 10, bytes=10, direction="peer-to-peer", host_memory=None)))
    assert found[0][1:3] == ("peer-to-peer", None)


def test_a_copy_of_no_length_has_no_rate():
    assert of(table("copies", copy(5, 5, bytes=10)))[0][7] is None
