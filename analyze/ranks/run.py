"""Where does each rank's stage run? Here while there is little to read, in processes that memory allows, or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.errors import InputError, StepscopeError, TraceFormatError
from analyze.ingest import Progress, ReadCancelled
from analyze.ranks.stage import StageResult, rank_results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analyze.ranks.jobs import Job
    from analyze.ranks.stage import Options

#: below this much JSON, starting processes costs more than they save
POOL_BYTES = 200 << 20
#: with so little JSON in all, workspaces are kept, and the rank at the head of the report is not read again
KEPT_BYTES = 100 << 20


def run(
    jobs: Sequence[Job],
    options: Options,
    *,
    dask: str | None = None,
    processes: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> list[StageResult]:
    """Results in the order of the jobs; one that fails is set aside. Raises InputError where none gave a rank.

    `dask` is a scheduler's address; `processes` how many may work at once, by default as many as cores and memory allow.
    """
    if len(jobs) == 1:
        return [rank_results(jobs[0], options, progress, cancel)]
    results = _results(jobs, options, dask, processes, _Report(jobs, progress, cancel))
    if not any(result.ranks for result in results):
        raise _nothing(results)
    return results


class _Report:
    """Tells how far the jobs are, and notices a cancel."""

    def __init__(
        self, jobs: Sequence[Job], progress: Callable[[Progress], None] | None, cancel: Callable[[], bool] | None
    ) -> None:
        self.progress, self.cancel = progress, cancel
        self.total, self.done = max(sum(job.json_bytes for job in jobs), 1), 0

    def check(self) -> None:
        """Raise ReadCancelled where the caller wants no more."""
        if self.cancel is not None and self.cancel():
            raise ReadCancelled("reading was cancelled")

    def finished(self, job: Job) -> None:
        """Note that a job is done."""
        self.done += job.json_bytes
        if self.progress is not None:
            self.progress(Progress(file=job.name, bytes_done=self.done, bytes_total=self.total))


def _results(
    jobs: Sequence[Job], options: Options, dask: str | None, processes: int | None, report: _Report
) -> list[StageResult]:
    if dask is not None:
        from analyze.ranks.cluster import on_cluster  # noqa: PLC0415 - an extra

        return on_cluster(jobs, options, dask, report)
    if report.total >= POOL_BYTES or (processes or 0) > 1:
        from analyze.ranks.pool import in_processes, worker_count  # noqa: PLC0415 - needed for many ranks only

        count = processes or worker_count(max(job.json_bytes for job in jobs))
        if count > 1:
            return in_processes(jobs, options, min(count, len(jobs)), report)
    return [_here(job, options, report) for job in jobs]


def _here(job: Job, options: Options, report: _Report) -> StageResult:
    report.check()
    try:
        result = rank_results(job, options, None, report.cancel)
        result = result if report.total < KEPT_BYTES else result.portable()
    except ReadCancelled:
        raise
    except StepscopeError as problem:
        result = StageResult(job=job, set_aside=((job.name, str(problem)),))
    except Exception as fault:  # noqa: BLE001 - one rank's fault must not cost the answers about the others
        reason = f"could not be analysed: {type(fault).__name__}: {fault}"
        result = StageResult(job=job, set_aside=((job.name, reason),))
    report.finished(job)
    return result


def _nothing(results: Sequence[StageResult]) -> InputError:
    aside = [each for result in results for each in result.set_aside]
    if not aside:
        return InputError("no file was found there")
    if len(aside) == 1:
        return TraceFormatError(f"{aside[0][0]}: {aside[0][1]}")
    shown = "; ".join(f"{file}: {reason}" for file, reason in aside[:3])
    return TraceFormatError(f"none of the {len(aside)} files could be read: {shown}")
