"""What do the host and the training process use? CPU, memory, disk and network through psutil."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from collect.telemetry.probe import Sample

_INTERVAL_S = 0.5
#: sensors that belong to a processor, by the kernel driver's name
_CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal")
_CGROUP_USED = (Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"))


class HostProbe:
    """The whole host, and one process with its children."""

    source = "psutil"

    def __init__(
        self,
        pid: int | None = None,
        interval_s: float = _INTERVAL_S,
        psutil: Any = None,  # noqa: ANN401 - the module, or a stand-in for it
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.interval_s = interval_s
        self.unsupported: dict[str, str] = {}
        self._pid = pid
        self._psutil = psutil
        self._monotonic_s = monotonic_s
        self._process: Any = None
        self._cpu_seconds: dict[int, float] = {}
        self._read_at_s = 0.0

    def open(self) -> bool:
        """Prime what is measured between two readings: the first CPU percentage is always 0 and means nothing."""
        if self._psutil is None:
            try:
                import psutil
            except ImportError:
                self.unsupported["cpu_percent"] = "psutil is not installed"
                return False
            self._psutil = psutil
        self._psutil.cpu_percent(None, percpu=True)
        if self._reading("cpu_times_percent", "iowait") is None:
            self.unsupported["cpu_iowait_percent"] = "this system does not tell time spent waiting for disks"
        try:
            self._process = self._psutil.Process(self._pid) if self._pid is not None else None
        except self._psutil.Error as error:
            self.unsupported["process_rss_bytes"] = str(error)
        self._process_use()
        self._note_missing()
        return True

    def devices(self) -> list[dict[str, Any]]:
        """The host is described in the manifest."""
        return []

    def sample(self) -> list[Sample]:
        """Read everything once."""
        per_core = self._psutil.cpu_percent(None, percpu=True)
        memory = self._psutil.virtual_memory()
        return [
            {
                "cpu_percent": sum(per_core) / len(per_core) if per_core else None,
                "cpu_percent_per_core": per_core or None,
                "cpu_iowait_percent": self._reading("cpu_times_percent", "iowait"),
                "memory_used_bytes": memory.used,
                "memory_available_bytes": memory.available,
                "container_memory_used_bytes": _container_memory_used_bytes(),
                "swap_used_bytes": self._reading("swap_memory", "used"),
                "cpu_clock_mhz": self._reading("cpu_freq", "current") or None,
                "cpu_temperature_c": self._temperature_c(),
                "disk_read_bytes": self._reading("disk_io_counters", "read_bytes"),
                "disk_write_bytes": self._reading("disk_io_counters", "write_bytes"),
                "net_sent_bytes": self._reading("net_io_counters", "bytes_sent"),
                "net_received_bytes": self._reading("net_io_counters", "bytes_recv"),
                **self._process_use(),
            }
        ]

    def close(self) -> None:
        """Nothing is held."""

    def _note_missing(self) -> None:
        if self._temperature_c() is None:
            self.unsupported["cpu_temperature_c"] = "this system shows no processor sensor"
        if not self._reading("cpu_freq", "current"):
            self.unsupported["cpu_clock_mhz"] = "this system does not tell the processor's clock"

    def _reading(self, function: str, field: str) -> Any:  # noqa: ANN401
        """Return one field, or None: functions are missing on some systems, and give None on others."""
        try:
            return getattr(getattr(self._psutil, function)(), field, None)
        except (AttributeError, OSError, RuntimeError, NotImplementedError):
            return None

    def _temperature_c(self) -> float | None:
        try:
            sensors = self._psutil.sensors_temperatures()
        except (AttributeError, OSError):
            return None
        readings = [entry.current for name in _CPU_SENSORS for entry in sensors.get(name, ()) if entry.current]
        return max(readings, default=None)

    def _process_use(self) -> Sample:
        """Sum over the process and its children; CPU is counted only for those seen in the reading before."""
        now_s, elapsed_s = self._monotonic_s(), self._monotonic_s() - self._read_at_s
        own, children = self._family()
        before, self._cpu_seconds = self._cpu_seconds, {pid: use["cpu_s"] for pid, use in {**own, **children}.items()}
        self._read_at_s = now_s
        if not own or elapsed_s <= 0:
            return {}
        return {
            "process_rss_bytes": _sum(own, "rss_bytes"),
            "process_cpu_percent": self._cpu_percent(own, before, elapsed_s),
            "process_children_count": len(children),
            "process_children_rss_bytes": _sum(children, "rss_bytes"),
            "process_children_cpu_percent": self._cpu_percent(children, before, elapsed_s) if children else None,
        }

    def _family(self) -> tuple[dict[int, dict[str, float]], dict[int, dict[str, float]]]:
        if self._process is None:
            return {}, {}
        try:
            children = self._process.children(recursive=True)
        except self._psutil.Error:
            children = []
        return self._use_of([self._process]), self._use_of([child for child in children if not self._is_us(child)])

    def _is_us(self, process: Any) -> bool:  # noqa: ANN401
        return bool(process.pid == self._psutil.Process().pid)

    def _use_of(self, processes: list[Any]) -> dict[int, dict[str, float]]:
        found = {}
        for process in processes:
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    found[process.pid] = {
                        "cpu_s": times.user + times.system,
                        "rss_bytes": process.memory_info().rss,
                    }
            except self._psutil.Error:
                continue
        return found

    @staticmethod
    def _cpu_percent(uses: dict[int, dict[str, float]], before: dict[int, float], elapsed_s: float) -> float | None:
        spent = [use["cpu_s"] - before[pid] for pid, use in uses.items() if pid in before]
        return 100 * sum(spent) / elapsed_s if spent else None


def _sum(uses: dict[int, dict[str, float]], key: str) -> float:
    return sum(use[key] for use in uses.values())


def _container_memory_used_bytes() -> int | None:
    for path in _CGROUP_USED:
        try:
            return int(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return None
