"""A diagnosis that runs in a process of its own: its progress, its report, its end."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from analyze.errors import MissingData, StepscopeError
from analyze.report.table_rows import Page

if TYPE_CHECKING:
    import polars as pl

    from analyze.findings.model import Report

WORKER = Path(__file__).with_name("worker.py")
#: reports held at once, by all sessions together; each holds its tables in memory
HELD = 4
#: rows of a table that a page may ask for at once, to draw it
DRAWN_ROWS = 2_000_000
#: bytes of a table that are kept on this side, so that a page run again does not fetch it again
KEPT_BYTES = 32 * 1024 * 1024
ENDED = (
    "The process that read this ended unexpectedly ({code}). Most often that means memory ran out: "
    "close other programs, or record fewer steps."
)


class Diagnosis:
    """One diagnosis under way or finished, shared by the sessions that opened the same content."""

    def __init__(self, paths: tuple[str, ...], options: dict[str, Any]) -> None:
        self.state: Literal["running", "done", "failed", "closed"] = "running"
        self.fraction: float | None = None
        self.text = "Starting"
        self.error = ""
        self.started = time.monotonic()
        self._report: Report | None = None
        self._answers: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._one_request = threading.Lock()
        self._kept: dict[str, pl.DataFrame] = {}
        self._watching: set[str] = set()
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of ours
            [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._request("diagnose", paths, options)
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def report(self) -> Report:
        """The finished report; its tables are fetched from the other process."""
        if self._report is None:
            raise StepscopeError(self.error or "The report is not ready.")
        return self._report

    def rows(self, name: str, page: Page) -> tuple[int, pl.DataFrame]:
        """How many rows of the table match, and those of the page. Raises MissingData where the run lacks the table."""
        answer: tuple[int, pl.DataFrame] = self._ask("rows", name, page)
        return answer

    def csv(self, name: str) -> str:
        """Return the whole table as CSV, formulas escaped."""
        answer: str = self._ask("csv", name)
        return answer

    def table(self, name: str) -> pl.DataFrame:
        """Return the table, for a chart; it is cut at DRAWN_ROWS. Raises MissingData where the run lacks it."""
        if name not in self._kept:
            _, frame = self.rows(name, Page(limit=DRAWN_ROWS))
            if frame.estimated_size() > KEPT_BYTES:
                return frame
            self._kept[name] = frame
        return self._kept[name]

    def watch(self, session: str) -> None:
        """Note that a session looks at this."""
        self._watching.add(session)

    def leave(self, session: str) -> None:
        """Note that a session no longer looks at this; the last one out ends it."""
        self._watching.discard(session)
        if not self._watching:
            self.close()

    def close(self) -> None:
        """End the process, at once and with all it started."""
        self.state = "closed"
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _request(self, *message: object) -> None:
        if self._process.stdin is None:
            raise StepscopeError("This is closed.")
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def _ask(self, *message: object) -> Any:  # noqa: ANN401 - as the request has it
        with self._one_request:
            try:
                self._request(*message)
            except (OSError, ValueError) as error:
                raise StepscopeError("This report is no longer held in memory: open it again.") from error
            kind, answer = self._answers.get()
        if kind == "failed":
            raise MissingData(answer)
        return answer

    def _listen(self) -> None:
        """Take what the other process sends until it ends."""
        stream = self._process.stdout
        try:
            while stream is not None:
                self._take(*pickle.load(stream))  # noqa: S301 - written by our own worker
        except Exception as error:  # noqa: BLE001 - whatever stops the listening must end the waiting
            if not isinstance(error, EOFError):
                traceback.print_exception(error)
            self._kill()
            self._ended(self._process.wait())

    def _take(self, kind: str, *values: Any) -> None:  # noqa: ANN401 - as the message has it
        if kind == "progress":
            self._progress(*values)
        elif kind == "report":
            self._report = replace(values[0], table=self.table)
            self.state = "done"
        elif kind == "failed" and self.state == "running":
            self.state, self.error = "failed", values[0]
        else:
            self._answers.put((kind, values[0]))

    def _progress(self, file: str, done: int, total: int | None) -> None:
        name, megabytes = Path(file).name, f"{done / 1e6:,.0f}"
        self.fraction = done / total if total else None
        if total and done < total:
            self.text = f"reading {name}: {megabytes} of {total / 1e6:,.0f} MB"
        else:
            self.text = f"{name}: {megabytes} MB read, working out where the time goes"

    def _ended(self, code: int) -> None:
        if self.state == "running":
            self.state, self.error = "failed", ENDED.format(code=f"signal {-code}" if code < 0 else f"exit {code}")
        elif self.state == "done":
            self.state = "closed"
        self._answers.put(("failed", "This report is no longer held in memory: open it again."))
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _usable(diagnosis: Diagnosis) -> bool:
    return diagnosis.state != "closed"


@st.cache_resource(max_entries=HELD, show_spinner=False, on_release=Diagnosis.close, validate=_usable)
def diagnosis(key: str, _paths: tuple[str, ...], _options: dict[str, Any]) -> Diagnosis:  # noqa: ARG001 - the key is what it is cached by
    """Return the diagnosis that this key stands for, starting it where nobody has yet."""
    return Diagnosis(_paths, _options)
