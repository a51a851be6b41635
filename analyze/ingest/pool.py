"""How are large files parsed by several processes, so that one can be stopped at once and leaves nothing behind?

Processes are started afresh (never forked: Polars has threads) and talk by lines of JSON; frames go to Parquet, not
through pipes. Each worker inflates the file from its beginning, which is cheap, and decodes its own stretch.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from analyze.ingest.worker import Job, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

    from typing_extensions import Self

POLL_SECONDS = 0.05
#: what one worker needs at most, measured on traces from 512 MB to 5 GB of JSON
WORKER_BYTES = 600 << 20
MOST_WORKERS = 8
#: `-c` puts the current folder first on the path; a package of the user's there must not be taken for ours
PROGRAM = "import sys; sys.path[0] = {root!r}; from analyze.ingest.worker import main; main()"


def worker_count() -> int:
    """Processes that the machine's cores and free memory allow."""
    import psutil  # noqa: PLC0415  # start-up time

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    fitting = int(psutil.virtual_memory().available) // 2 // WORKER_BYTES
    return max(1, min(cores, MOST_WORKERS, fitting))


class Pool:
    """Worker processes that run jobs in the order given; leaving the context ends them all."""

    def __init__(self, count: int) -> None:
        root = str(Path(__file__).resolve().parents[2])
        environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
        command = [sys.executable, "-c", PROGRAM.format(root=root)]
        self.lines: queue.Queue[tuple[int, bytes]] = queue.Queue()
        self.workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)  # noqa: S603
            for _ in range(count)
        ]
        self.listeners = [threading.Thread(target=self._listen, args=(index,), daemon=True) for index in range(count)]
        for listener in self.listeners:
            listener.start()

    def _listen(self, index: int) -> None:
        stdout = self.workers[index].stdout
        assert stdout is not None  # noqa: S101  # asked for above
        for line in stdout:
            self.lines.put((index, line))
        self.lines.put((index, b""))

    def run(self, jobs: Iterable[Job], check: Callable[[], None], tick: Callable[[Result], None]) -> list[Result]:
        """Results in the order of the jobs; `check` is called often and may raise, `tick` hears how far each job is."""
        waiting = list(jobs)
        results: list[Result | None] = [None] * len(waiting)
        position = {job.number: index for index, job in enumerate(waiting)}
        todo = iter(waiting)
        running = {index: job for index in range(len(self.workers)) if (job := self._give(index, todo)) is not None}
        while running:
            check()
            try:
                index, line = self.lines.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if index not in running:
                continue
            result = msgspec.json.decode(line, type=Result) if line else self._died(index, running[index])
            if result.reached is not None:
                tick(result)
                continue
            if result.needs_literal_backslashes and not running[index].literal_backslashes and running[index].plan is None:
                running[index] = self._send(index, replace(running[index], literal_backslashes=True))
                continue
            results[position[result.number]] = result
            following = self._give(index, todo) if line else None
            if following is None:
                del running[index]
            else:
                running[index] = following
        return [result or self._undone(job) for result, job in zip(results, waiting, strict=True)]

    def _give(self, index: int, todo: Any) -> Job | None:  # noqa: ANN401
        job = next(todo, None)
        return None if job is None else self._send(index, job)

    def _send(self, index: int, job: Job) -> Job:
        stdin = self.workers[index].stdin
        assert stdin is not None  # noqa: S101
        try:
            stdin.write(msgspec.json.encode(job) + b"\n")
            stdin.flush()
        except OSError:
            self.lines.put((index, b""))
        return job

    def _died(self, index: int, job: Job) -> Result:
        status = self.workers[index].wait()
        return Result(number=job.number, failure=f"the reading process ended early (status {status}); is memory short?")

    @staticmethod
    def _undone(job: Job) -> Result:
        return Result(number=job.number, failure="no reading process was left to read it")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for worker in self.workers:
            if worker.stdin is not None:
                with contextlib.suppress(OSError):
                    worker.stdin.close()
            if error is not None:
                worker.kill()
        for worker, listener in zip(self.workers, self.listeners, strict=True):
            worker.wait()
            listener.join()
            if worker.stdout is not None:
                worker.stdout.close()


def stretches(job: Job, begin: int, json_bytes: int, count: int) -> list[Job]:
    """Split the whole-file job at `count - 1` places of about equal work."""
    span = max(1, (json_bytes - begin) // count)
    cuts = [begin + span * number for number in range(1, count)]
    return [
        replace(job, number=job.number + index, prefix=f"{job.prefix}-{index:03d}", begin=begin, start=start, stop=stop)
        for index, (start, stop) in enumerate(zip([None, *cuts], [*cuts, None], strict=True))
    ]
