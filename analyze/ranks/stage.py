"""The per-rank stage: from one rank's files to its summary and the small frames by which ranks are compared.

A pure function of the files: what it returns can be pickled, holds no path of this process and does not depend on where it ran.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze import ingest, schema
from analyze.engine import Workspace, stacked
from analyze.errors import InputError, MissingData, StepscopeError
from analyze.ingest import Limits, ReadCancelled
from analyze.ranks.split import by_process
from analyze.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from analyze.findings.model import Summary
    from analyze.ingest import Progress, Recording, Trace
    from analyze.ranks.jobs import Job
    from analyze.trace_info import TraceInfo


@dataclass(frozen=True, kw_only=True)
class Options:
    """How ranks are read and what is known about them beside their files."""

    baseline_step_ms: float | None = None
    limits: Limits = field(default_factory=Limits)
    cache: bool = True
    #: processes that may parse one rank's files
    processes: int | None = None


@dataclass(frozen=True, kw_only=True)
class RankResult:
    """One rank, small enough to send; the workspace stays where it was made."""

    name: str
    #: path or address, which tells ranks apart that have no number
    path: str
    rank: int | None
    cycle: int
    summary: Summary
    info: TraceInfo
    explained: TraceInfo | None
    manifest: Mapping[str, Any] | None
    #: by name, those of `engine.stacked` that this rank has
    frames: Mapping[str, pl.DataFrame]
    #: and why it lacks the others
    missing: Mapping[str, str]
    workspace: Workspace | None = field(default=None, repr=False, compare=False)

    @property
    def key(self) -> object:
        """The same for all recordings of one rank."""
        return self.path if self.rank is None else self.rank


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """What one job gave."""

    job: Job
    ranks: tuple[RankResult, ...] = ()
    #: columns of `schema.DATA_QUALITY`
    data_quality: pl.DataFrame = field(default_factory=lambda: schema.empty(schema.DATA_QUALITY))
    #: files not used: (file, reason)
    set_aside: tuple[tuple[str, str], ...] = ()

    def portable(self) -> StageResult:
        """Without what cannot leave this process."""
        return replace(self, ranks=tuple(replace(rank, workspace=None) for rank in self.ranks))


def rank_results(
    job: Job,
    options: Options,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> StageResult:
    """Run the stage on every rank in the job's files; raises InputError where they hold none."""
    recording = ingest.read(
        list(job.paths), limits=options.limits, progress=progress, cancel=cancel, cache=options.cache, processes=options.processes
    )
    chosen = _by_rank(recording)
    alone = len(chosen) == 1
    return StageResult(
        job=job,
        ranks=tuple(_result(recording, trace, explained, options, alone=alone) for trace, explained in chosen),
        data_quality=pl.concat([schema.empty(schema.DATA_QUALITY), *(trace.data_quality for trace in recording.traces)]),
        set_aside=tuple((aside.file, aside.reason) for aside in recording.set_aside),
    )


def rank_results_or_reason(job: Job, options: Options) -> StageResult:
    """As rank_results, sent home from another process; files that cannot be used are set aside with the reason."""
    try:
        return rank_results(job, options).portable()
    except ReadCancelled:
        raise
    except StepscopeError as problem:
        return StageResult(job=job, set_aside=((job.name, str(problem)),))
    except Exception as fault:  # noqa: BLE001 - one rank's fault must not cost the answers about the others
        return StageResult(job=job, set_aside=((job.name, f"could not be analysed: {type(fault).__name__}: {fault}"),))


def _by_rank(recording: Recording) -> list[tuple[Trace, Trace | None]]:
    """For each rank the trace that is analysed, and the one that explains it."""
    usable = [trace for trace in recording.traces if trace.window != "explanations"] or list(recording.traces)
    if not usable:
        raise InputError(f"{recording.source}: no trace in it could be read")
    chosen: dict[object, Trace] = {}
    for trace in (part for whole in usable for part in by_process(whole)):
        key = trace.rank if trace.rank is not None else trace.path
        if key not in chosen or trace.cycle < chosen[key].cycle:
            chosen[key] = trace
    explaining = {trace.rank: trace for trace in recording.traces if trace.window == "explanations"}
    ordered = sorted(chosen.values(), key=lambda trace: (trace.rank is None, trace.rank or 0, trace.name))
    return [(trace, explaining.get(trace.rank) if trace.window == "times" else None) for trace in ordered]


def _result(recording: Recording, trace: Trace, explained: Trace | None, options: Options, *, alone: bool) -> RankResult:
    # a rank without a number is nobody's but its own: the run's files belong to it if there is no other
    own_rank = trace.rank if trace.rank is not None else 0 if alone else None
    log = recording.step_log
    manifest = None if own_rank is None else recording.manifests.get(own_rank)
    sources: dict[str, Any] = {
        **trace.frames,
        "trace_info": trace.info,
        "rank": trace.rank,
        "data_quality": trace.data_quality,
        "telemetry": recording.telemetry,
        "telemetry_header": recording.telemetry_header or None,
        "step_log": None if log is None or own_rank is None else log.filter(pl.col("rank") == own_rank),
        "manifest": manifest,
        "baseline_step_ms": options.baseline_step_ms,
        "explained": None if explained is None else explained.frames,
    }
    workspace = Workspace(sources, keeping=trace.folder)
    frames, missing = _frames(workspace) if trace.rank is not None else ({}, {})
    return RankResult(
        name=trace.name,
        path=trace.path,
        rank=trace.rank,
        cycle=trace.cycle,
        summary=summarise(workspace, trace.name),
        info=trace.info,
        explained=None if explained is None else explained.info,
        manifest=manifest,
        frames=frames,
        missing=missing,
        workspace=workspace,
    )


def _frames(workspace: Workspace) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
    """What this rank is compared by, and why its recording lacks the rest."""
    found, missing = {}, {}
    for name in stacked():
        try:
            found[name] = workspace.get(name)
        except MissingData as reason:
            missing[name] = str(reason)
    return found, missing
