"""The process that holds one diagnosis: reads requests from stdin, answers on stdout, ends with its parent.

Parsing is Python that holds the interpreter lock; in the server's own process it would stop every other session. Here
it cannot, cancelling is a kill that takes effect at once, and memory goes back to the system when the process ends.

Requests are pickled tuples, first ("diagnose", paths, options), then ("rows", name, page) or ("csv", name). Answers are
("progress", file, bytes_done, bytes_total), ("report", Report), ("answer", value) and ("failed", text).
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, BinaryIO

#: seconds between two progress messages: the page polls twice a second
PROGRESS_INTERVAL_S = 0.1
UNEXPECTED = "stepscope failed on this input ({kind}); the terminal that runs the app has the details."


class Answers:
    """The pipe to the parent."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._last_progress = 0.0

    def send(self, *message: object) -> None:
        """Write one message."""
        pickle.dump(message, self._pipe, protocol=pickle.HIGHEST_PROTOCOL)
        self._pipe.flush()

    def progress(self, progress: Any) -> None:  # noqa: ANN401 - as analyze.diagnose hands it over
        """Pass progress on, but not more often than it is looked at."""
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_INTERVAL_S:
            self._last_progress = now
            self.send("progress", progress.file, progress.bytes_done, progress.bytes_total)


def serve(requests: queue.Queue[tuple[Any, ...]], answers: Answers) -> None:
    """Diagnose what the first request names, then answer questions about its tables until the process is ended."""
    from analyze import diagnose  # noqa: PLC0415 - imported here so that the parent hears of a failing import
    from analyze.report.table_rows import csv_text, rows  # noqa: PLC0415
    from views.shell.portable import portable  # noqa: PLC0415

    _, paths, options = requests.get()
    report = diagnose(*paths, progress=answers.progress, **options)
    answers.send("report", portable(report))
    while True:
        request = requests.get()
        try:
            frame = report.table(request[1])
            answers.send("answer", csv_text(frame) if request[0] == "csv" else rows(frame, request[2]))
        except Exception as error:  # noqa: BLE001 - one table that fails is no reason to lose the others
            answers.send("failed", text_of(error))


def text_of(error: Exception) -> str:
    """One line for the user; what is not meant for the user goes to the terminal."""
    from analyze.errors import StepscopeError  # noqa: PLC0415

    if isinstance(error, StepscopeError):
        return str(error)
    traceback.print_exception(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory to read this."
    return UNEXPECTED.format(kind=type(error).__name__)


def read_requests(pipe: BinaryIO, requests: queue.Queue[tuple[Any, ...]]) -> None:
    """Queue requests; when the parent is gone, end this process and those it started."""
    while True:
        try:
            requests.put(pickle.load(pipe))  # noqa: S301 - written by the parent, nobody else holds the pipe
        except (EOFError, pickle.UnpicklingError):
            end_group()


def end_group() -> None:
    """End this process and, where it leads a group of its own, those it started."""
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Serve one parent."""
    # What libraries print must not reach the pipe.
    answers = Answers(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.Queue[tuple[Any, ...]] = queue.Queue()
    threading.Thread(target=read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay responsive while every core is reading a trace
    try:
        serve(requests, answers)
    except Exception as error:  # noqa: BLE001 - the parent shows one line, whatever happened
        answers.send("failed", text_of(error))
    os._exit(0)  # not sys.exit, which waits for the thread that waits for the parent


if __name__ == "__main__":
    # Started by its path: the folder of the app comes first, where a checkout has `analyze`, instead of this one.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    main()
