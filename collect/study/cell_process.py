"""Start a cell's process, follow it, end it.

Each cell has a process of its own, so that its threads, its CUDA context and its memory are those of a run by itself. It
is a new session: Ctrl-C reaches the matrix alone, which passes it on once.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ROOT = Path(__file__).resolve().parents[2]
#: a window that is being written, a sampler that takes its last sample
_END_WAIT_S = 20.0
# the current folder may hold a `collect.py` of the user's own: look for ours where this file lies
_START = (
    "import sys; sys.path[:] = [{root!r}] + [p for p in sys.path if p]; from collect.study.cell import main; sys.exit(main())"
)


class CellProcess:
    """A running cell; iterate over it for its progress."""

    def __init__(self, task: Mapping[str, Any], log: Path) -> None:
        self._log = log.open("w", encoding="utf-8")
        self._process = subprocess.Popen(  # noqa: S603 - our own module, by this interpreter
            [sys.executable, "-c", _START.format(root=str(_ROOT)), json.dumps(task)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield what the cell tells, until it ends."""
        for line in self._process.stdout or ():
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if isinstance(told, dict):
                yield told

    def wait(self) -> int:
        """Wait for the end and return the exit status."""
        status = self._process.wait()
        self._close()
        return status

    def stop(self) -> None:
        """End the cell as Ctrl-C would, so that it keeps what it had; harder where it does not end."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is not None:
                break
            self._process.send_signal(number)
            try:
                self._process.wait(_END_WAIT_S)
            except subprocess.TimeoutExpired:
                continue
        self._close()

    def _close(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()
