"""Sample every probe at its own pace and append the samples to one file, a line each, flushed as they are taken."""

from __future__ import annotations

import argparse
import heapq
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from collect.machine import host_name
from collect.run_directory import clock_anchor
from collect.telemetry.host import HostProbe
from collect.telemetry.nvml import NvmlProbe
from collect.telemetry.rapl import RaplProbe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from collect.telemetry.probe import Probe

_NS_PER_S = 1_000_000_000
#: how often the sampler looks whether the training process still lives
_ALIVE_EVERY_S = 1.0


class Stop(Protocol):
    """Says when to end; `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to end now."""

    def wait(self, timeout: float) -> Any:  # noqa: ANN401
        """Sleep, or wake early to end."""


def sample_until(
    probes: Sequence[Probe],
    file: TextIO,
    stop: Stop,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
    monotonic_s: Callable[[], float] = time.monotonic,
    wall_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Write a header, then samples until stopped or no longer wanted, then one last sample of each probe."""
    opened = [probe for probe in probes if probe.open()]
    _write(file, {"header": _header(opened, probes)})
    start = monotonic_s()
    due = [(start + probe.interval_s, index) for index, probe in enumerate(opened)]
    heapq.heapify(due)
    next_look = start + _ALIVE_EVERY_S
    while not stop.is_set():
        now = monotonic_s()
        if now >= next_look:
            if not is_wanted():
                break
            next_look = now + _ALIVE_EVERY_S
        if due and due[0][0] <= now:
            planned, index = heapq.heappop(due)
            _take(opened[index], file, wall_ns)
            # a sample that came late must not be followed by a burst
            heapq.heappush(due, (max(planned + opened[index].interval_s, monotonic_s()), index))
            continue
        stop.wait(max(0.0, min([next_look, *(at for at, _ in due[:1])]) - now))
    for probe in opened:
        _take(probe, file, wall_ns)
        probe.close()


def _header(opened: Sequence[Probe], probes: Sequence[Probe]) -> dict[str, Any]:
    return {
        "host": host_name(),
        "clock": clock_anchor(),
        "interval_s": {probe.source: probe.interval_s for probe in opened},
        "devices": [device for probe in opened for device in probe.devices()],
        "unsupported": {metric: reason for probe in probes for metric, reason in probe.unsupported.items()},
    }


def _take(probe: Probe, file: TextIO, wall_ns: Callable[[], int]) -> None:
    before_ns = wall_ns()
    samples = probe.sample()
    # a reading takes time: its middle is when it was true
    time_ns = (before_ns + wall_ns()) // 2
    for sample in samples:
        _write(file, {"time_ns": time_ns, "source": probe.source, **sample})


def _write(file: TextIO, line: dict[str, Any]) -> None:
    file.write(json.dumps(line, separators=(",", ":")) + "\n")
    file.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Sample this host into FILE until SIGTERM, Ctrl-C, or until the process named by --pid is gone."""
    parser = argparse.ArgumentParser(prog="collect.telemetry", description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pid", type=int, help="the training process, to watch and to follow to its end")
    parser.add_argument("--all-devices", action="store_true", help="sample devices hidden from this process too")
    options = parser.parse_args(argv)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    parent = os.getppid()
    probes: list[Probe] = [
        NvmlProbe(all_devices=options.all_devices, pid=options.pid),
        HostProbe(pid=options.pid),
        RaplProbe(),
    ]
    with options.file.open("w", encoding="utf-8") as file:
        sample_until(probes, file, stop, is_wanted=lambda: options.pid is None or os.getppid() == parent)
    return 0
