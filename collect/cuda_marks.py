"""Where is the GPU on its own time line, without waiting for it? CUDA events for the step clock."""

from __future__ import annotations

import time
from typing import Any

_MS_NS = 1_000_000
_LOSS_EVERY_S = 0.05


class CudaMark:
    """An event behind the work queued so far, and the loss copied to the host just before it."""

    def __init__(self, event: Any, loss: Any) -> None:  # noqa: ANN401 - torch.cuda.Event is untyped
        self._event = event
        self._loss = loss

    def passed(self) -> bool:
        """Whether the device has passed the event; while a graph is captured nobody may ask."""
        return not _is_capturing() and bool(self._event.query())

    def since(self, earlier: CudaMark) -> int:
        """Return nanoseconds since an earlier event; events resolve half a microsecond."""
        elapsed_ms: float = earlier._event.elapsed_time(self._event)
        return round(elapsed_ms * _MS_NS)

    def loss(self) -> float | None:
        """Return the loss that came with the mark."""
        try:
            return None if self._loss is None else float(self._loss)
        except (TypeError, ValueError, RuntimeError):
            return None


class CudaDevice:
    """The current CUDA device, as the step clock sees it.

    A mark costs the host a few microseconds. Fetching the loss costs several times that, so with short steps only some
    bring theirs: one in `_LOSS_EVERY_S`.
    """

    def __init__(self) -> None:
        self._loss_taken_s = float("-inf")

    def synchronise(self) -> None:
        """Wait for the device; left out during graph capture, where waiting is an error."""
        import torch

        if not _is_capturing():
            torch.cuda.synchronize()

    def mark(self, loss: Any) -> CudaMark | None:  # noqa: ANN401
        """Record an event on the current stream; None while a graph is captured."""
        import torch

        if _is_capturing():
            return None
        on_host = self._fetch(loss)
        new_event: Any = torch.cuda.Event
        event = new_event(enable_timing=True)
        event.record()
        return CudaMark(event, on_host)

    def _fetch(self, loss: Any) -> Any:  # noqa: ANN401
        """Queue the copy of a device tensor to pinned memory; reading it there and then would wait for the step."""
        import torch

        if not isinstance(loss, torch.Tensor) or not loss.is_cuda:
            return loss
        now_s = time.monotonic()
        if loss.numel() != 1 or now_s - self._loss_taken_s < _LOSS_EVERY_S:
            return None
        self._loss_taken_s = now_s
        return loss.detach().to("cpu", non_blocking=True)


def _is_capturing() -> bool:
    import torch

    return bool(torch.cuda.is_current_stream_capturing())
