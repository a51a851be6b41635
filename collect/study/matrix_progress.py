"""Say on stderr how far a whole matrix is: one bar on a terminal, a line per cell elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing import TextIO


class MatrixProgress(Protocol):
    """Where the runner of a matrix reports to."""

    def cell(self, text: str) -> None:
        """Begin a cell."""

    def at(self, done: float, cells: int, text: str) -> None:
        """Tell how many of the cells are done, the running one in part, and what is left."""

    def say(self, text: str) -> None:
        """Show a line."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class MatrixLines:
    """A line per cell."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream

    def cell(self, text: str) -> None:
        """Write the line."""
        self.say(text)

    def at(self, done: float, cells: int, text: str) -> None:
        """Steps are not worth a line."""

    def say(self, text: str) -> None:
        """Write a line; a stream that is gone is no reason to end a study."""
        try:
            self._stream.write(f"stepscope: {text}\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    def close(self) -> None:
        """Nothing is held."""


class MatrixBar:
    """One bar that counts cells, the running one by its steps; beside it the time that is left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._progress: Any = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[left]}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=1.0, left="")
        self._progress.start()

    def cell(self, text: str) -> None:
        """Change the description."""
        self._progress.update(self._task, description=text)

    def at(self, done: float, cells: int, text: str) -> None:
        """Move on."""
        self._progress.update(self._task, completed=done, total=cells, left=text)

    def say(self, text: str) -> None:
        """Show a line above the bar."""
        self._progress.console.print(f"stepscope: {text}", markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()


def choose_matrix_progress() -> MatrixProgress:
    """Return a bar where stderr is a terminal, lines elsewhere."""
    return MatrixBar() if sys.stderr.isatty() else MatrixLines()
