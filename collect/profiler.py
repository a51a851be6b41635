"""Open and close the profiler windows, and write each trace once.

`times` records operators and device work and nothing else: shapes, memory and stacks cost time at every operator.
`explanations` records all three for a couple of steps and is never used for times; on a small model that is some ten
times the data. Both begin with the profiler armed for one unrecorded step, and the first use of a profiler in a process
is thrown away: device events are often missing from it.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import shutil
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from collect.machine import cuda_in_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from collect.gc_marks import GarbageMarks

_log = logging.getLogger(__name__)
#: what a device's work looks like in the trace text; without it the profiler saw only the host
_DEVICE_WORK = (b'"cat": "kernel"', b'"cat": "gpu_memcpy"', b'"cat": "gpu_memset"')
_COPY_BYTES = 1 << 20
_COMPRESSION = 6


@dataclass(frozen=True, kw_only=True)
class WindowOptions:
    """What a window records beside operators and device work."""

    shapes: bool = False
    memory: bool = False
    stacks: bool = False


WINDOWS = {
    "times": WindowOptions(),
    "explanations": WindowOptions(shapes=True, memory=True, stacks=True),
}


class Windows:
    """One profiler window at a time: `arm`, `start`, `stop`, `export`, with step annotations in between."""

    def __init__(self, marks: GarbageMarks) -> None:
        self.notes: list[str] = []
        self._marks = marks
        self._profiler: Any = None
        self._annotation: Any = None
        self._host_only = False
        #: between `start` and `stop`
        self._running = False
        #: stopped with something to export
        self._recorded = False

    def arm(self, name: str) -> None:
        """Prepare the window: the profiler's own start-up happens here, outside the recorded steps."""
        if self._is_taken():
            return
        while True:
            self._profiler = self._create(WINDOWS[name])
            if self._try(self._prepare, f"the profiler could not be armed for window '{name}'"):
                return
            if self._host_only or not cuda_in_use():
                return
            self._host_only = True
            self._note("recording the host only: the profiler does not work with device activity here")

    def _prepare(self) -> None:
        with warnings.catch_warnings():
            # torch says that a cycle's events end with the cycle; where warnings are errors that would cost the window
            warnings.simplefilter("ignore")
            self._profiler.prepare_trace()

    def start(self) -> None:
        """Begin recording."""
        if self._profiler is not None:
            self._try(self._profiler.start_trace, "the profiler could not start")
        self._running = self._marks.active = self._profiler is not None

    def stop(self) -> None:
        """Stop recording; waits for the device. Idempotent."""
        self.end_step()
        self._marks.active = False
        running, self._running = self._running, False
        if running and self._profiler is not None:
            self._recorded = self._try(self._profiler.stop_trace, "the profiler could not stop")

    def discard(self) -> None:
        """Drop what was recorded or armed. Idempotent."""
        self.stop()
        self._profiler = None
        self._recorded = False

    def begin_step(self, step: int) -> None:
        """Open the annotation that marks a step in the trace; its number is the run's own step index."""
        if self._running:
            from torch.profiler import record_function

            self._annotation = record_function(f"ProfilerStep#{step}")
            self._annotation.__enter__()

    def end_step(self) -> None:
        """Close the step's annotation, where one is open."""
        if self._annotation is not None:
            annotation, self._annotation = self._annotation, None
            annotation.__exit__(None, None, None)

    def mark(self, name: str) -> Any:  # noqa: ANN401 - a context manager of torch, or one that does nothing
        """Annotate what runs inside, while recording."""
        if not self._running:
            return contextlib.nullcontext()
        from torch.profiler import record_function

        return record_function(name)

    def export(self, path: Path) -> bool:
        """Write the trace, gzipped, in one go; return whether there is one. The profiler is let go either way."""
        profiler, self._profiler = self._profiler, None
        recorded, self._recorded = self._recorded, False
        if profiler is None or not recorded:
            return False
        plain, partial = path.with_suffix(".plain"), path.with_suffix(".partial")
        try:
            profiler.export_chrome_trace(str(plain))
            self._check_device_work(plain)
            _compress(plain, partial)
            partial.replace(path)
        except Exception as error:  # noqa: BLE001 - a lost trace must not end the user's training
            self._note(f"trace {path.name} could not be written: {_first_line(error)}")
            return False
        finally:
            plain.unlink(missing_ok=True)
            partial.unlink(missing_ok=True)
        return True

    def _is_taken(self) -> bool:
        """Whether the user's own profiler runs: starting ours would end theirs."""
        import torch

        autograd: Any = torch.autograd
        if not autograd._profiler_enabled():  # noqa: SLF001 - nothing public tells
            return False
        self._note("another profiler runs in this process: no window was opened beside it")
        return True

    def _create(self, options: WindowOptions) -> Any:  # noqa: ANN401
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU]
        if cuda_in_use() and not self._host_only:
            activities.append(ProfilerActivity.CUDA)
        return profile(
            activities=activities,
            record_shapes=options.shapes,
            profile_memory=options.memory,
            with_stack=options.stacks,
            experimental_config=_with_sync_records() if ProfilerActivity.CUDA in activities else None,
        )

    def _try(self, action: Callable[[], Any], failure: str) -> bool:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - another tool may hold CUPTI, or the user's own profiler runs
            self._note(f"{failure}: {_first_line(error)}")
            self._profiler = None
            return False
        return True

    def _check_device_work(self, plain: Path) -> None:
        if not cuda_in_use() or self._host_only:
            return
        with plain.open("rb") as file:
            while chunk := file.read(_COPY_BYTES):
                if any(mark in chunk for mark in _DEVICE_WORK):
                    return
        self._note(
            "the profiler saw no device work: the steps used no device, another tool holds CUPTI, or this user may not use it"
        )

    def _note(self, text: str) -> None:
        _log.warning(text)
        if text not in self.notes:
            self.notes.append(text)


def _with_sync_records() -> Any:  # noqa: ANN401
    """Ask for records of waits and event synchronisation; they say what a stream or the host waited for."""
    from torch._C._profiler import _ExperimentalConfig

    try:
        return _ExperimentalConfig(enable_cuda_sync_events=True)
    except TypeError:
        return None


def _compress(plain: Path, packed: Path) -> None:
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=_COMPRESSION) as target:
        shutil.copyfileobj(source, target, _COPY_BYTES)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
