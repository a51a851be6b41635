"""Where is the GPU on its own time line, without waiting for it? CUDA events for the step clock."""

from __future__ import annotations

from typing import Any

_MS_NS = 1_000_000


class CudaMark:
    """An event behind the work queued so far, and the loss copied to the host just before it."""

    def __init__(self, event: Any, loss: Any) -> None:  # noqa: ANN401 - torch.cuda.Event is untyped
        self._event = event
        self._loss = loss

    def passed(self) -> bool:
        """Whether the device has passed the event."""
        return bool(self._event.query())

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
    """The current CUDA device, as the step clock sees it."""

    def synchronise(self) -> None:
        """Wait for the device; left out during graph capture, where waiting is an error."""
        import torch

        if not torch.cuda.is_current_stream_capturing():
            torch.cuda.synchronize()

    def mark(self, loss: Any) -> CudaMark | None:  # noqa: ANN401
        """Record an event on the current stream; None while a graph is captured."""
        import torch

        if torch.cuda.is_current_stream_capturing():
            return None
        on_host = _copy_without_waiting(loss)
        new_event: Any = torch.cuda.Event
        event = new_event(enable_timing=True)
        event.record()
        return CudaMark(event, on_host)


def _copy_without_waiting(loss: Any) -> Any:  # noqa: ANN401
    """Queue the copy of a device tensor to pinned memory; reading a tensor on the device would wait for the step."""
    import torch

    if not isinstance(loss, torch.Tensor) or not loss.is_cuda or loss.numel() != 1:
        return loss
    return loss.detach().to("cpu", non_blocking=True)
