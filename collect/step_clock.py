"""How long did each step take, without making the device wait at every step?

A CPU step lasts from one step's end to the next. With a GPU the host runs ahead, so host times say when work was
*queued*. A stretch of steps therefore begins and ends with one synchronisation, and inside it each step's end is an
event on the current stream, read later, when the device has passed it. A step lasts from the step before's event to
its own; the last step of a stretch also gets what is left up to the synchronised end. So the durations of a stretch add
up to its true wall time, and the mean is right whatever the host did.

While the profiler is open no events are placed, since they would show in the trace: those steps carry host times, and
their stretch still adds up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(kw_only=True)
class Step:
    """One step as it is logged; durations become final when the device has passed its end."""

    step: int
    start_ns: int
    dur_ns: int
    host_dur_ns: int
    input_wait_ns: int
    samples: int | None
    phase: str
    loss: float | None = None


class Mark(Protocol):
    """A point on the device's own time line."""

    def passed(self) -> bool:
        """Whether the device has passed it; never waits."""

    def since(self, earlier: Any) -> int:  # noqa: ANN401 - a mark of the same device
        """Return nanoseconds between two passed marks."""

    def loss(self) -> float | None:
        """Return the loss that was handed over with the mark, once passed."""


class Device(Protocol):
    """What the clock needs of a device; None stands for the CPU."""

    def synchronise(self) -> None:
        """Wait until the device has done all it was given."""

    def mark(self, loss: Any) -> Mark | None:  # noqa: ANN401 - a tensor, or a number
        """Place a mark behind the work queued so far; None where that is not possible now."""


class StepClock:
    """Times the steps of stretches and hands each to `write` in order, as early as it is final."""

    def __init__(
        self,
        write: Callable[[Step], None],
        device: Device | None = None,
        now_ns: Callable[[], int] = time.perf_counter_ns,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.device = device
        self._write = write
        self._now_ns = now_ns
        # wall time is read once: a clock that is set during the run must not bend durations
        self._wall_offset_ns = wall_ns() - now_ns()
        self._pending: list[tuple[Step, Mark | None, Any]] = []
        self._running = False
        self._marking = False
        self._last_mark: Mark | None = None
        self._host_start_ns = 0
        #: where the next step to become final starts, on the device's time line
        self._final_ns = 0
        #: final, but without a mark of their own, since the last mark
        self._unmarked_ns = 0

    def begin(self, *, marking: bool = True) -> None:
        """Begin a stretch with the device at rest; without marking its steps become final at its end."""
        if self.device is not None:
            self.device.synchronise()
        self._marking = marking
        self._last_mark = self._mark(None)
        self._host_start_ns = self._final_ns = self._now_ns()
        self._unmarked_ns = 0
        self._running = True

    def end_step(self, step: int, phase: str, input_wait_ns: int, samples: int | None, loss: Any) -> int:  # noqa: ANN401
        """Close a step and return its duration on the host."""
        now = self._now_ns()
        host_dur = now - self._host_start_ns
        record = Step(
            step=step,
            start_ns=self._host_start_ns + self._wall_offset_ns,
            dur_ns=host_dur,
            host_dur_ns=host_dur,
            input_wait_ns=input_wait_ns,
            samples=samples,
            phase=phase,
        )
        self._host_start_ns = now
        # a loss that is kept for later must not keep its step's graph
        loss = loss.detach() if hasattr(loss, "detach") else loss
        self._pending.append((record, self._mark(loss), loss))
        # the newest step waits: should the stretch end here, it gets the remainder
        while self._pending and (self.device is None or self._next_is_final()):
            self._finish(*self._pending.pop(0))
        return host_dur

    def end(self) -> None:
        """End the stretch: wait for the device once and make every step final. Without a stretch, do nothing."""
        if not self._running:
            return
        self._running = False
        if self.device is None:
            return
        self.device.synchronise()
        end_ns = self._now_ns()
        while self._pending:
            record, mark, loss = self._pending.pop(0)
            # what no mark covers (other streams, the wait itself) belongs to the last step
            self._finish(record, mark, loss, until_ns=None if self._pending else end_ns)

    def _mark(self, loss: Any) -> Mark | None:  # noqa: ANN401
        return self.device.mark(loss) if self.device is not None and self._marking else None

    def _next_is_final(self) -> bool:
        mark = self._pending[0][1]
        return len(self._pending) > 1 and mark is not None and mark.passed()

    def _finish(self, record: Step, mark: Mark | None, loss: Any, until_ns: int | None = None) -> None:  # noqa: ANN401
        if self.device is not None:
            record.dur_ns = self._device_dur_ns(record, mark) if until_ns is None else until_ns - self._final_ns
            record.start_ns = self._final_ns + self._wall_offset_ns
            self._final_ns += record.dur_ns
        record.loss = _number(loss) if mark is None else mark.loss()
        self._write(record)

    def _device_dur_ns(self, record: Step, mark: Mark | None) -> int:
        if mark is None or self._last_mark is None:
            self._unmarked_ns += record.dur_ns
            return record.dur_ns
        dur_ns = max(0, mark.since(self._last_mark) - self._unmarked_ns)
        self._last_mark, self._unmarked_ns = mark, 0
        return dur_ns


def _number(loss: Any) -> float | None:  # noqa: ANN401
    """Turn a number or a one-element tensor into a float; waits for the device where the tensor lives on one."""
    try:
        return None if loss is None else float(loss)
    except (TypeError, ValueError, RuntimeError):
        return None
