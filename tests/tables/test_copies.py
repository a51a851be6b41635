from __future__ import annotations

import polars as pl
import pytest

from analyze.errors import MissingData
from analyze.tables.copies import copies
from tests.builders import family, kernel, launch, memcpy, operator, span, table


@pytest.mark.parametrize(
    ("name", "direction", "host_memory"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "host-to-device", "pageable"),
        ("Memcpy HtoD (Pinned -> Device)", "host-to-device", "pinned"),
        ("Memcpy DtoH (Device -> Pageable)", "device-to-host", "pageable"),
        ("Memcpy DtoD (Device -> Device)", "device-to-device", None),
        ("Memcpy PtoP (Device -> Device)", "peer-to-peer", None),
        ("Memcpy HtoH (Pageable -> Pinned)", "host-to-host", "pageable"),
        ("CopyHostToDevice", "host-to-device", "unknown"),
        ("CopyDeviceToHost", "device-to-host", "unknown"),
        ("CopyDeviceToDevice", "device-to-device", None),
        ("Memcpy Unknown (Unknown -> Unknown)", "unknown", "unknown"),
    ],
)
def test_direction_and_host_memory_by_name(name, direction, host_memory):
    table_ = copies(family("device_events", memcpy(0, 10, name, bytes=100)))
    assert table_.select(pl.col("direction", "host_memory").cast(pl.String)).rows() == [(direction, host_memory)]


def test_a_copy_belongs_to_the_step_that_launched_it():
    launched = table("launches", launch(0, 5, "cudaMemcpyAsync", id=3, correlation=4, step=2, op_id=9))
    table_ = copies(family("device_events", memcpy(7, 9, correlation=4)), launched)
    assert table_.select("step", "launch_id", "op_id").rows() == [(2, 3, 9)]


def test_unknown_size_stays_unknown():
    assert copies(family("device_events", memcpy(7, 9)))["bytes"].to_list() == [None]


def test_a_device_that_copies_nothing_has_no_rows():
    assert copies(family("device_events", kernel(0, 10, "void copy_kernel<float>()"))).is_empty()


def test_without_any_device_work_copies_are_unknown():
    with pytest.raises(MissingData):
        copies(family("device_events"))


def test_what_a_collective_on_the_host_copies_is_told_apart():
    launched = table(
        "launches",
        launch(12, 14, "cudaMemcpyAsync", id=1, correlation=1),
        launch(62, 64, "cudaMemcpyAsync", id=2, correlation=2, thread="9"),
        launch(62, 64, "cudaMemcpyAsync", id=3, correlation=3),
        launch(92, 94, "cudaMemcpyAsync", id=4, correlation=4, thread="9"),
    )
    requests = table("cpu_ops", operator(10, 20, "c10d::allreduce_"), operator(60, 70, "aten::copy_"))
    exchanged = table("collectives", span(50, 80, kind="all-reduce", process="1", thread="9"))
    events = family("device_events", *(memcpy(100 + number, 101 + number, correlation=number) for number in (1, 2, 3, 4)))
    # in its request, by its thread; by another thread, after its end
    assert copies(events, launched, exchanged, requests)["for_exchange"].to_list() == [True, True, False, False]
    assert copies(events, launched, None, requests)["for_exchange"].to_list() == [False] * 4
    assert copies(events)["for_exchange"].to_list() == [False] * 4


def test_collectives_on_a_device_copy_nothing():
    launched = table("launches", launch(12, 14, "cudaMemcpyAsync", id=1, correlation=1))
    on_device = table("collectives", span(10, 80, kind="all-reduce", process="1", thread="1", device=0))
    events = family("device_events", memcpy(100, 110, correlation=1))
    assert copies(events, launched, on_device, table("cpu_ops", operator(10, 20, "c10d::allreduce_")))[
        "for_exchange"
    ].to_list() == [False]
