"""Show Python's garbage collections in the profiler windows, as annotations named `gc.collect`.

A collection stops the training thread for anything from microseconds to a second and leaves no event of its own.
Outside windows the callback returns at once.
"""

from __future__ import annotations

import gc
import os
from typing import Any

NAME = "gc.collect"


class GarbageMarks:
    """Annotates collections while `active`."""

    def __init__(self) -> None:
        self.active = False
        self._process = os.getpid()
        self._open: Any = None

    def install(self) -> None:
        """Ask the collector to call us; idempotent."""
        if self._on_collection not in gc.callbacks:
            gc.callbacks.append(self._on_collection)

    def remove(self) -> None:
        """Leave the collector alone again."""
        self.active = False
        if self._on_collection in gc.callbacks:
            gc.callbacks.remove(self._on_collection)

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and self._open is not None:
            opened, self._open = self._open, None
            opened.__exit__(None, None, None)
        # a data-loading worker forked during a window inherits this callback, but not the profiler
        elif phase == "start" and self.active and os.getpid() == self._process:
            from torch.profiler import record_function

            annotation: Any = record_function(NAME, f"generation {info['generation']}")
            annotation.__enter__()
            self._open = annotation
