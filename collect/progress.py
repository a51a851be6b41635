"""Say on stderr what the recorder is doing: a bar on a terminal, plain lines elsewhere, nothing on other ranks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_STAGE_TEXT = {
    "settling": "waiting for step time to settle",
    "baseline": "measuring without the profiler",
    "baseline before": "measuring without the profiler",
    "baseline after": "measuring without the profiler again",
    "throw-away": "warming the profiler up",
    "times": "profiling: times",
    "explanations": "profiling: shapes, memory and stacks",
    "idle": "recorded; the run goes on",
}


class Progress(Protocol):
    """Where the recorder reports to."""

    def stage(self, name: str, step: int) -> None:
        """Begin a stage."""

    def step(self, taken: int, to_go: Callable[[], int]) -> None:
        """Count a step."""

    def say(self, text: str) -> None:
        """Show a line."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Silence:
    """Says nothing."""

    def stage(self, name: str, step: int) -> None:
        """Ignore."""

    def step(self, taken: int, to_go: Callable[[], int]) -> None:
        """Ignore."""

    def say(self, text: str) -> None:
        """Ignore."""

    def close(self) -> None:
        """Ignore."""


class Lines:
    """One line per stage."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream

    def stage(self, name: str, step: int) -> None:
        """Write the stage, unless it is only a pause between two others."""
        if name in _STAGE_TEXT:
            self.say(f"step {step}: {_STAGE_TEXT[name]}")

    def step(self, taken: int, to_go: Callable[[], int]) -> None:
        """Single steps are not worth a line."""

    def say(self, text: str) -> None:
        """Write a line; a stream that is gone is no reason to end a training run."""
        try:
            self._stream.write(f"stepscope: {text}\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    def close(self) -> None:
        """Nothing is held."""


class Bar:
    """A bar that counts steps; how many there will be is known only roughly, and it says so."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._progress: Any = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("step {task.completed:.0f} of about {task.total:.0f}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=100)
        self._progress.start()

    def stage(self, name: str, step: int) -> None:
        """Change the description."""
        del step
        if name in _STAGE_TEXT:
            self._progress.update(self._task, description=_STAGE_TEXT[name])

    def step(self, taken: int, to_go: Callable[[], int]) -> None:
        """Move on."""
        self._progress.update(self._task, completed=taken, total=max(1, taken + to_go()))

    def say(self, text: str) -> None:
        """Show a line above the bar."""
        self._progress.console.print(f"stepscope: {text}", markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


def choose_progress(*, rank: int, bar: bool) -> Progress:
    """Return a bar where one is wanted and stderr is a terminal, lines otherwise; rank 0 alone speaks."""
    if rank != 0:
        return Silence()
    return Bar() if bar and sys.stderr.isatty() else Lines()
