"""Recordings written along the host's clock, so that a test reads like the training loop it is about. Times are in µs.

The device starts work 5 after its call began, or when its stream is free. A call takes 4; a copy from or to pageable memory
and a synchronisation hold the host until the device is done. Step markers close only when told to, so nothing waits that the
test does not say.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from analyze.engine import Workspace
from analyze.schema import DATA_QUALITY, FAMILIES, empty
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import Row, family, kernel, marker, memcpy, on_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

US = 1_000
CALL_US, LATENCY_US = 4, 5
A100 = "NVIDIA A100-SXM4-80GB"
LOADER = "enumerate(DataLoader)#{}DataLoaderIter.__next__"


class Timeline:
    """What one rank's thread did, and what the device did about it."""

    def __init__(self, device: str | None = A100) -> None:
        self.now = 0.0
        self.free: dict[int, float] = {}
        self.events: dict[str, list[Row]] = {name: [] for name in FAMILIES if name != "raw"}
        self._device, self._steps, self._correlation, self._id = device, 0, 0, 0

    def _add(self, family_name: str, row: Row) -> int:
        self._id += 1
        self.events[family_name].append({"id": self._id} | row)
        return self._id

    def _host(self, family_name: str, start: float, name: str, **more: object) -> int:
        return self._add(family_name, on_thread(round(start * US), round(self.now * US), name, **more))

    @contextmanager
    def step(self) -> Iterator[None]:
        """A marked step around what follows."""
        number, start = self._steps, self.now
        self._steps += 1
        yield
        self._add("annotation_events", {**marker(number, round(start * US), round(self.now * US))})

    @contextmanager
    def op(self, name: str, **arguments: object) -> Iterator[None]:
        """An operator around what follows."""
        start, at = self.now, len(self.events["op_events"])
        self._id += 1
        # an operator stands before those inside it, also where they begin together
        self.events["op_events"].append({"id": self._id})
        yield
        row = on_thread(round(start * US), round(self.now * US), name, **arguments)
        self.events["op_events"][at] |= row

    @contextmanager
    def label(self, name: str) -> Iterator[None]:
        """A user's or a library's annotation around what follows."""
        start = self.now
        yield
        self._host("annotation_events", start, name, on_device=False)

    def python(self, us: float) -> None:
        """Host work that nothing records."""
        self.now += us

    def frame(self, name: str, start: float, end: float) -> None:
        """A Python frame, for source lines."""
        self._add("python_events", on_thread(round(start * US), round(end * US), name))

    def load(self, us: float, workers: str = "_SingleProcess") -> None:
        """The loop waits for its next batch."""
        with self.label(LOADER.format(workers)):
            self.now += us

    def kernel(
        self, us: float, name: str = "a_kernel", *, stream: int = 7, call: str = "cudaLaunchKernel", **more: object
    ) -> None:
        """Launch a kernel that runs this long."""
        self._started(kernel, us, name, stream, call, more)

    def copy(self, us: float, size: int, kind: str = "HtoD (Pageable -> Device)", *, stream: int = 7) -> None:
        """Copy size bytes in this time; only where host memory is pageable does the call wait."""
        waits = "Pageable" in kind
        self._started(memcpy, us, f"Memcpy {kind}", stream, "cudaMemcpyAsync", {"bytes": size}, waits=waits)

    def _started(self, row: Any, us: float, name: str, stream: int, call: str, more: Row, *, waits: bool = False) -> None:
        self._correlation += 1
        begin = self.now
        start = max(begin + LATENCY_US, self.free.get(stream, 0.0))
        self.free[stream] = start + us
        self.now = max(begin + CALL_US, start + us if waits else 0.0)
        self._host("runtime_events", begin, call, correlation=self._correlation)
        times = (round(start * US), round((start + us) * US))
        self._add("device_events", row(*times, name, stream=stream, correlation=self._correlation, **more))

    def call(self, us: float, name: str) -> None:
        """A driver call that starts nothing: cudaMalloc, say."""
        begin = self.now
        self.now += us
        self._host("runtime_events", begin, name)

    def synchronise(self, name: str = "cudaDeviceSynchronize", *, until: float | None = None, extra: float = 0.0) -> None:
        """A call that returns when all streams are done, or at a time, and extra later."""
        begin = self.now
        done = max(self.free.values()) if until is None else until
        self.now = max(begin + CALL_US, done) + extra
        self._host("runtime_events", begin, name)

    def workspace(self, **sources: object) -> Workspace:
        """The recording, ready for tables, analyses and detectors."""
        devices = (DeviceProperties(index=0, name=self._device, multiprocessors=108),) if self._device else ()
        families = {name: family(name, *rows) for name, rows in self.events.items()}
        info = TraceInfo(producer="kineto-cuda" if devices else "kineto-cpu", devices=devices)
        return Workspace({**families, "trace_info": info, "data_quality": empty(DATA_QUALITY), **sources})
