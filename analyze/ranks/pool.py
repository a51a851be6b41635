"""Ranks in processes of this machine, as many as cores and memory allow.

Processes are started afresh (never forked: Polars has threads), and by a program of their own rather than multiprocessing's,
which would import the caller's main module again. Jobs and results go through pipes, pickled: both are small.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from analyze.ranks.stage import StageResult, rank_results_or_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.ranks.jobs import Job
    from analyze.ranks.run import _Report
    from analyze.ranks.stage import Options

POLL_SECONDS = 0.1
#: what a worker needs beside the frames of its rank: the interpreter, Polars, a parser's buffers
WORKER_BYTES = 300 << 20
#: memory per byte of JSON: frames, and what analyses make of them
BYTES_PER_JSON_BYTE = 1.0
#: share of the free memory that workers may take
MEMORY_SHARE = 0.5
MOST_WORKERS = 64
PROGRAM = "import sys; sys.path[0] = {root!r}; from analyze.ranks.pool import main; main()"


def worker_count(largest_json_bytes: int) -> int:
    """How many ranks fit the machine at once, none of them larger than this."""
    import psutil  # noqa: PLC0415 - start-up time

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    each = WORKER_BYTES + BYTES_PER_JSON_BYTE * largest_json_bytes
    return max(1, min(cores, MOST_WORKERS, int(psutil.virtual_memory().available * MEMORY_SHARE / each)))


def in_processes(jobs: Sequence[Job], options: Options, count: int, report: _Report) -> list[StageResult]:
    """Results in the order of the jobs, the largest begun first; a worker that dies costs the job it was at."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in sorted(range(len(jobs)), key=lambda index: -jobs[index].json_bytes):
        waiting.put(index)
    finished: queue.Queue[tuple[int, StageResult]] = queue.Queue()
    workers = [_Worker() for _ in range(count)]
    threads = [
        threading.Thread(target=_serve, args=(worker, jobs, options, waiting, finished), daemon=True) for worker in workers
    ]
    results: dict[int, StageResult] = {}
    try:
        for thread in threads:
            thread.start()
        while len(results) < len(jobs):
            report.check()
            with contextlib.suppress(queue.Empty):
                index, result = finished.get(timeout=POLL_SECONDS)
                results[index] = result
                report.finished(jobs[index])
    finally:
        for worker in workers:
            worker.end()
        for thread in threads:
            thread.join()
    return [results[index] for index in range(len(jobs))]


def _serve(
    worker: _Worker,
    jobs: Sequence[Job],
    options: Options,
    waiting: queue.SimpleQueue[int],
    finished: queue.Queue[tuple[int, StageResult]],
) -> None:
    with contextlib.suppress(queue.Empty):
        while not worker.ended:
            index = waiting.get_nowait()
            finished.put((index, worker.result(jobs[index], options)))


class _Worker:
    """One process, started again where it died."""

    def __init__(self) -> None:
        self.ended = False
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).resolve().parents[2])
        environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
        command = [sys.executable, "-c", PROGRAM.format(root=root)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)  # noqa: S603

    def result(self, job: Job, options: Options) -> StageResult:
        """What the process makes of the job, or why it did not."""
        process = self._process
        assert process.stdin is not None  # noqa: S101 - asked for above
        assert process.stdout is not None  # noqa: S101
        try:
            pickle.dump((job, options), process.stdin)
            process.stdin.flush()
            answer: StageResult = pickle.load(process.stdout)  # noqa: S301 - written by our own worker
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            self._close(process)
            if not self.ended:
                self._process = self._start()
            return StageResult(
                job=job, set_aside=((job.name, f"its process ended early (status {process.returncode}); is memory short?"),)
            )
        return answer

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.ended = True
        self._process.kill()
        self._close(self._process)

    @staticmethod
    def _close(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError, ValueError):
                    stream.close()


def main() -> None:
    """Serve jobs until stdin closes."""
    out: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # what libraries print must not reach the pipe
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            job, options = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the parent
        except EOFError:
            return
        pickle.dump(rank_results_or_reason(job, options), out, protocol=pickle.HIGHEST_PROTOCOL)
        out.flush()
