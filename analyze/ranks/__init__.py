"""One rank at a time, wherever it runs: here, in a few processes, or on a Dask cluster."""

from __future__ import annotations

from analyze.ranks.jobs import Job, rank_jobs
from analyze.ranks.run import run
from analyze.ranks.stage import Options, RankResult, StageResult, rank_results

__all__ = ["Job", "Options", "RankResult", "StageResult", "rank_jobs", "rank_results", "run"]
