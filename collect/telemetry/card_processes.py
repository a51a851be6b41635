"""Who else computes on a card? Processes beside the training's own, what they hold, and how busy they keep it.

The driver numbers processes as the host does. In a container it may name none, or numbers that mean nothing there: unless
one of the training's own is among them, nothing is said.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from collect.telemetry.probe import Sample

_NS_PER_US = 1000
#: the driver averages what it counted five times a second over the time it is asked for: less would be a matter of chance
_LAST_US = 1_000_000
NAMES = ("other_processes_count", "other_processes_bytes", "other_processes_sm_percent")


class CardProcesses:
    """Tells a card's processes that are not the training's from those that are."""

    def __init__(
        self,
        nvml: Any,  # noqa: ANN401 - the module, or a stand-in for it
        pid: int,
        environ: Mapping[str, str],
        psutil: Any = None,  # noqa: ANN401 - likewise
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._nvml, self._pid, self._psutil = nvml, pid, psutil
        #: ranks of one launcher are one training; those that a script starts itself have no LOCAL_WORLD_SIZE
        self._launched = any(environ.get(name, "1") not in ("", "1") for name in ("LOCAL_WORLD_SIZE", "WORLD_SIZE"))
        self._ours: set[int] = set()
        self._known: set[int] = set()
        self._wall_ns = wall_ns

    def read(self, handle: Any) -> Sample:  # noqa: ANN401
        """Other processes by number, memory and busy share; None where the driver's numbers are not ours to read."""
        running = {one.pid: one.usedGpuMemory for one in self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)}
        if not running.keys() <= self._known:
            self._known = self._known | running.keys()
            self._ours = self._own_processes()
        if self._ours.isdisjoint(running):
            return dict.fromkeys(NAMES)
        others = {pid: held for pid, held in running.items() if pid not in self._ours}
        held = [memory for memory in others.values() if memory is not None]
        return {
            "other_processes_count": len(others),
            "other_processes_bytes": sum(held) if len(held) == len(others) else None,
            "other_processes_sm_percent": self._busy_percent(handle, set(others)) if others else 0.0,
        }

    def _own_processes(self) -> set[int]:
        """The training process and what it started; with ranks of one launcher, all that the launcher started."""
        if self._psutil is None:
            import psutil

            self._psutil = psutil
        try:
            mine = self._psutil.Process(self._pid)
            top = (mine.parent() if self._launched else None) or mine
            return {top.pid, *(child.pid for child in top.children(recursive=True))}
        except self._psutil.Error:
            return {self._pid}

    def _busy_percent(self, handle: Any, others: set[int]) -> float | None:  # noqa: ANN401
        """Share of the last second in which kernels of these ran, summed over them; None where it is not told by process."""
        try:
            samples = self._nvml.nvmlDeviceGetProcessUtilization(handle, self._wall_ns() // _NS_PER_US - _LAST_US)
        except Exception as error:  # noqa: BLE001 - many kinds of cards do not count by process
            nothing_ran = getattr(error, "value", None) == self._nvml.NVML_ERROR_NOT_FOUND
            return 0.0 if nothing_ran else None
        return float(sum(one.smUtil for one in samples if one.pid in others))
