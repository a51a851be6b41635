# ruff: noqa: N802 - a stand-in has the names of what it stands for
from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest

from collect.telemetry.host import HostProbe


class FakeProcess:
    def __init__(self, pid: int, cpu_s: float, rss: int) -> None:
        self.pid, self.cpu_s, self.rss, self.family, self.gone = pid, cpu_s, rss, [], False

    def oneshot(self) -> Any:
        return contextlib.nullcontext()

    def cpu_times(self) -> Any:
        if self.gone:
            raise FakePsutil.Error
        return SimpleNamespace(user=self.cpu_s, system=0.0)

    def memory_info(self) -> Any:
        return SimpleNamespace(rss=self.rss)

    def children(self, recursive: bool) -> list[FakeProcess]:
        return list(self.family)


class FakePsutil:
    """CPU percentages as psutil gives them: the first reading is 0 and means nothing."""

    class Error(Exception):
        pass

    def __init__(self) -> None:
        self.readings = [[0.0, 0.0], [80.0, 60.0], [100.0, 100.0]]
        self.trained = FakeProcess(10, 5.0, 1000)
        self.sampler = FakeProcess(99, 0.0, 1)

    def Process(self, pid: int | None = None) -> FakeProcess:
        return self.sampler if pid is None else self.trained

    def cpu_percent(self, interval: None, percpu: bool) -> list[float]:
        assert percpu
        return self.readings.pop(0)

    def virtual_memory(self) -> Any:
        return SimpleNamespace(used=7, available=9)

    def disk_io_counters(self) -> None:
        return None

    def net_io_counters(self) -> Any:
        return SimpleNamespace(bytes_sent=3, bytes_recv=4)

    def cpu_freq(self) -> Any:
        return SimpleNamespace(current=0.0)


@pytest.fixture
def psutil() -> FakePsutil:
    return FakePsutil()


def opened(psutil: FakePsutil, clock: list[float], pid: int | None = 10) -> HostProbe:
    probe = HostProbe(pid=pid, psutil=psutil, monotonic_s=lambda: clock[0])
    assert probe.open()
    return probe


def test_the_first_percentage_is_spent_on_priming(psutil: FakePsutil):
    # card P01: 0.0 is never written
    probe = opened(psutil, [0.0])
    assert [probe.sample()[0]["cpu_percent"] for _ in range(2)] == [70.0, 100.0]


def test_what_a_system_lacks_is_none_and_said(psutil: FakePsutil):
    probe = opened(psutil, [0.0])
    (sample,) = probe.sample()
    # no function, a function that gives None, a clock of 0
    assert sample["cpu_temperature_c"] is None
    assert sample["swap_used_bytes"] is None
    assert sample["disk_read_bytes"] is None
    assert sample["cpu_clock_mhz"] is None
    assert sample["net_received_bytes"] == 4
    assert sample["cpu_iowait_percent"] is None
    assert set(probe.unsupported) == {"cpu_temperature_c", "cpu_clock_mhz", "cpu_iowait_percent"}


def test_the_first_share_of_waiting_for_disks_is_spent_on_priming(psutil: FakePsutil):
    readings = iter([0.0, 12.5])
    psutil.cpu_times_percent = lambda: SimpleNamespace(iowait=next(readings))
    probe = opened(psutil, [0.0])
    assert probe.sample()[0]["cpu_iowait_percent"] == 12.5
    assert "cpu_iowait_percent" not in probe.unsupported


def test_a_process_is_measured_between_two_readings_and_newcomers_wait_for_theirs(psutil: FakePsutil):
    clock = [0.0]
    probe = opened(psutil, clock)
    worker = FakeProcess(11, 3.0, 50)
    psutil.trained.family = [worker, psutil.sampler]
    psutil.trained.cpu_s, clock[0] = 6.0, 2.0
    (sample,) = probe.sample()
    # a second of CPU in two seconds; the worker is new; the sampler itself is not the job's
    assert (sample["process_cpu_percent"], sample["process_rss_bytes"]) == (50.0, 1000)
    assert (sample["process_children_count"], sample["process_children_rss_bytes"]) == (1, 50)
    assert sample["process_children_cpu_percent"] is None
    worker.cpu_s, clock[0] = 5.0, 4.0
    assert probe.sample()[0]["process_children_cpu_percent"] == 100.0


def test_a_process_that_is_gone_leaves_no_zero(psutil: FakePsutil):
    clock = [0.0]
    probe = opened(psutil, clock)
    psutil.trained.gone, clock[0] = True, 1.0
    (sample,) = probe.sample()
    assert "process_cpu_percent" not in sample
    assert sample["cpu_percent"] == 70.0
