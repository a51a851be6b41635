from __future__ import annotations

import sys

import polars as pl
import pytest

from analyze.crosscheck import COLUMNS, crosscheck
from analyze.crosscheck.figure import Figure, activity_name
from analyze.errors import InputError, MissingData
from analyze.ingest import Trace
from analyze.schema import DATA_QUALITY, FAMILIES, empty
from analyze.trace_info import TraceInfo
from tests.builders import family, kernel, marker, memcpy, on_thread, span

comparing = sys.modules["analyze.crosscheck.crosscheck"]
US = 1_000


def recorded(path="w.json", **rows):
    frames = {name: family(name, *rows.get(name, ())) for name in FAMILIES}
    return Trace(
        name=path, path=path, rank=3, cycle=0, window=None, info=TraceInfo(producer="kineto-cuda"),
        frames=frames, data_quality=empty(DATA_QUALITY),
    )  # fmt: skip


def compared(monkeypatch, trace, *theirs):
    monkeypatch.setattr(comparing, "their_figures", lambda _: [Figure(*figure) for figure in theirs])
    return crosscheck([trace])


def row(found, question, name):
    return found.filter(pl.col("question") == question, pl.col("name") == name).row(0, named=True)


CALLS = [on_thread(t * US, (t + 2) * US, "cudaLaunchKernel", correlation=t) for t in (10, 20, 30)]
WORK = [
    kernel(15 * US, 25 * US, "a_kernel", correlation=10),
    kernel(25 * US, 45 * US, "ncclDevKernel_AllReduce", correlation=20, stream=20),
    kernel(60 * US, 70 * US, "a_kernel", correlation=30),
]


def test_equal_figures_agree_and_others_without_a_reason_are_left_open(monkeypatch):
    trace = recorded(runtime_events=CALLS, device_events=WORK)
    found = compared(
        monkeypatch,
        trace,
        ("temporal breakdown", "idle_time", 15.0, "us"),
        ("temporal breakdown", "compute_time", 20.0, "us"),
        ("temporal breakdown", "kernel_time", 99.0, "us"),
    )
    assert found.columns == [column.name for column in COLUMNS]
    assert row(found, "temporal breakdown", "idle_time")["agrees"]
    assert row(found, "temporal breakdown", "idle_time")["rank"] == 3
    wrong = row(found, "temporal breakdown", "kernel_time")
    assert (wrong["ours"], wrong["agrees"], wrong["explanation"]) == (55.0, False, None)
    assert wrong["difference"] == pytest.approx(-44 / 99)


def test_rounding_explains_what_it_moves_and_nothing_else(monkeypatch):
    """[15.2, 25.8) becomes [16, 25): 9 instead of 10.6; a figure that rounding does not bring to HTA's stays open."""
    trace = recorded(runtime_events=CALLS[:1], device_events=[kernel(15_200, 25_800, "a_kernel", correlation=10)])
    found = compared(
        monkeypatch, trace, ("kernel total", "a_kernel", 9.0, "us"), ("temporal breakdown", "compute_time", 7.0, "us")
    )
    assert row(found, "kernel total", "a_kernel")["ours"] == 10.6
    assert "rounds" in row(found, "kernel total", "a_kernel")["explanation"]
    assert row(found, "temporal breakdown", "compute_time")["explanation"] is None


def test_synchronisation_records_explain_a_longer_span(monkeypatch):
    sync = span(70 * US, 200 * US, "Context Sync", stream=7, correlation=99)
    trace = recorded(runtime_events=CALLS, device_events=WORK, sync_events=[sync])
    found = compared(
        monkeypatch, trace, ("temporal breakdown", "kernel_time", 185.0, "us"), ("temporal breakdown", "compute_time", 20.0, "us")
    )
    assert row(found, "temporal breakdown", "kernel_time")["explanation"] == "HTA takes 1 synchronisation records for device work"
    assert row(found, "temporal breakdown", "compute_time")["agrees"]


def test_unknown_launch_calls_explain_missing_launches(monkeypatch):
    calls = [*CALLS[:2], on_thread(30 * US, 32 * US, "cuLaunchKernelEx", correlation=30)]
    found = compared(monkeypatch, recorded(runtime_events=calls, device_events=WORK), ("launches", "count", 2.0, ""))
    assert row(found, "launches", "count")["ours"] == 3
    assert "misses 1 of cuLaunchKernelEx" in row(found, "launches", "count")["explanation"]


def test_a_name_that_hta_takes_for_computation(monkeypatch):
    work = [WORK[0], kernel(25 * US, 45 * US, "void cross_device_reduce_2stage<float>", correlation=20)]
    found = compared(
        monkeypatch, recorded(runtime_events=CALLS, device_events=work), ("temporal breakdown", "compute_time", 30.0, "us")
    )
    assert "sorts 1 items otherwise" in row(found, "temporal breakdown", "compute_time")["explanation"]


def test_triton_s_operators_counted_as_kernels(monkeypatch):
    work = [kernel(15 * US, 25 * US, "triton_poi_fused_add_0", correlation=10)]
    ops = [on_thread(9 * US, 13 * US, "triton_poi_fused_add_0")]
    found = compared(
        monkeypatch,
        recorded(runtime_events=CALLS[:1], device_events=work, op_events=ops),
        ("kernel total", "triton_poi_fused_add_0", 14.0, "us"),
    )
    assert "(Triton)" in row(found, "kernel total", "triton_poi_fused_add_0")["explanation"]


def test_two_devices_in_one_process(monkeypatch):
    work = [WORK[0], kernel(15 * US, 25 * US, "b_kernel", correlation=20, device=1)]
    found = compared(
        monkeypatch, recorded(runtime_events=CALLS, device_events=work), ("temporal breakdown", "compute_time", 10.0, "us")
    )
    assert row(found, "temporal breakdown", "compute_time")["ours"] == 20
    assert "merges the streams of 2 devices" in row(found, "temporal breakdown", "compute_time")["explanation"]


def test_folded_names_explain_a_longest_launch_that_is_the_total(monkeypatch):
    """Eleven names of ten launches of 12 us: HTA's longest is 120."""
    calls = [on_thread(t * US, (t + 1) * US, "cudaLaunchKernel", correlation=t + 1) for t in range(110)]
    work = [kernel((200 + 20 * t) * US, (212 + 20 * t) * US, f"kernel_{t % 11}", correlation=t + 1) for t in range(110)]
    found = compared(monkeypatch, recorded(runtime_events=calls, device_events=work), ("kernel longest", "kernel_4", 120.0, "us"))
    assert row(found, "kernel longest", "kernel_4")["ours"] == 12
    assert "folds 11 names" in row(found, "kernel longest", "kernel_4")["explanation"]


def test_the_last_step_is_left_out_as_hta_does(monkeypatch):
    markers = [marker(1, 0, 28 * US), marker(2, 28 * US, 100 * US)]
    trace = recorded(runtime_events=CALLS, device_events=WORK, annotation_events=markers)
    found = compared(monkeypatch, trace, ("launches", "count", 2.0, ""))
    assert row(found, "launches", "count")["agrees"]


def test_copies_and_memsets_are_memory_and_rates_of_whole_microseconds_are_rough(monkeypatch):
    work = [memcpy(15 * US, 17 * US, bytes=2_900, correlation=10)]
    found = compared(
        monkeypatch, recorded(runtime_events=CALLS[:1], device_events=work), ("copy bandwidth", "Memcpy HtoD", 1.61, "GB/s")
    )
    assert "whole microseconds" in row(found, "copy bandwidth", "Memcpy HtoD")["explanation"]


def test_a_file_that_hta_cannot_read_is_refused():
    with pytest.raises(InputError, match=r"\.json"):
        crosscheck([recorded("w.json.zst")])


def test_without_hta_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "hta", None)
    with pytest.raises(MissingData, match=r"stepscope\[hta\]"):
        crosscheck([recorded()])


def test_combinations_of_activities_have_one_name():
    assert activity_name(["COMMUNICATION", "COMPUTATION"]) == "compute+communication"
    assert activity_name(["MEMORY"]) == "copy"
