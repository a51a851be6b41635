"""Ranks on a Dask cluster whose workers see the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.errors import InputError
from analyze.ranks.stage import StageResult, rank_results_or_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.ranks.jobs import Job
    from analyze.ranks.run import _Report
    from analyze.ranks.stage import Options

CONNECT_SECONDS = 15


def on_cluster(jobs: Sequence[Job], options: Options, address: str, report: _Report) -> list[StageResult]:
    """Results in the order of the jobs; raises InputError where the cluster cannot be reached."""
    try:
        from distributed import Client, as_completed  # noqa: PLC0415 - an extra
    except ImportError as missing:
        raise InputError("--dask needs Dask: pip install 'stepscope[cluster]'") from missing
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as problem:
        raise InputError(f"--dask {address}: no scheduler answers there ({type(problem).__name__})") from problem
    with client, client.as_current():
        futures = client.map(rank_results_or_reason, list(jobs), options=options, pure=False)
        number = {future.key: index for index, future in enumerate(futures)}
        results: list[StageResult | None] = [None] * len(jobs)
        for future in as_completed(futures):
            report.check()
            index = number[future.key]
            results[index] = future.result() if future.status == "finished" else _lost(jobs[index], future.exception())
            report.finished(jobs[index])
    return [result or _lost(job, None) for job, result in zip(jobs, results, strict=True)]


def _lost(job: Job, problem: object) -> StageResult:
    return StageResult(job=job, set_aside=((job.name, f"the cluster did not finish it: {problem}"),))
