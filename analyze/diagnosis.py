"""From paths to a finished Report: every rank's stage, what all give together, and the findings about the rank that matters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze import schema
from analyze.errors import InputError, MissingData
from analyze.findings.input_paced import input_paced, pace_after_fix_ns
from analyze.findings.model import Finding, Outcome, RankSummary, Report, Severity
from analyze.findings.saving import claim_less
from analyze.findings.shared_device import SharedDevice, shared_device, within_the_device
from analyze.ingest import Limits
from analyze.next_steps import next_steps
from analyze.ranks import Options, RankResult, StageResult, rank_jobs, rank_results, run
from analyze.ranks.together import head_of, mixed_quality, together
from analyze.replay.edits import combine
from analyze.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analyze.engine import Workspace
    from analyze.ingest import Progress
    from analyze.replay import Replay
    from analyze.trace_info import TraceInfo

#: a finding keeps its place only if this share of its saving is left once the better ones are fixed: else it is a symptom
MIN_OWN_SHARE = 0.25
#: order of the notes
SEVEREST = (Severity.HIGH, Severity.MEDIUM, Severity.LOW)


@dataclass(frozen=True, kw_only=True)
class _Head:
    """The rank at the head of the report, with all it can tell."""

    rank: int | None
    workspace: Workspace
    outcomes: tuple[Outcome, ...]


def diagnose(
    *paths: str,
    baseline_step_ms: float | None = None,
    rank: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    limits: Limits | None = None,
    cache: bool = True,
    dask: str | None = None,
    processes: int | None = None,
) -> Report:
    """Diagnose whatever lies under the paths; raises InputError with one line where nothing can be read.

    rank puts that rank at the head of the report; otherwise the one that the others wait for is, else the one with the longest
    step. dask is the address of a scheduler on whose workers the ranks are read; processes limits how many are at once here.
    """
    given = [str(path) for path in paths]
    options = Options(baseline_step_ms=baseline_step_ms, limits=limits or Limits(), cache=cache, processes=processes)
    stages = run(rank_jobs(given), options, dask=dask, processes=processes, progress=progress, cancel=cancel)
    results = _by_rank(stages)
    all_ranks = together(results)
    chosen = head_of(results, rank, all_ranks)
    head = _opened(chosen, stages, options, all_ranks)
    findings, notes, outcomes = _gather(head, several=len(results) > 1)
    after = _after_all_fixes(head, findings)
    floor = _floor(head, chosen.summary.floor_ns, after)
    summary = replace(chosen.summary, after_all_fixes_ns=after, floor_ns=floor)
    return Report(
        source=", ".join(given),
        summary=summary,
        verdict=verdict(summary, findings, {o.detector.id: o.detector for o in outcomes}, notes),
        findings=findings,
        notes=notes,
        outcomes=outcomes,
        data_quality=pl.concat(
            [
                schema.empty(schema.DATA_QUALITY),
                *(stage.data_quality for stage in stages),
                mixed_quality(results, all_ranks, _recorded_again(stages, results)),
                _coverage(head),
            ]
        ),
        ranks=tuple(RankSummary(rank=r.rank, name=r.name, summary=r.summary) for r in results),
        set_aside=tuple(aside for stage in stages for aside in stage.set_aside),
        info=_info(chosen),
        manifest=chosen.manifest,
        next_steps=next_steps(summary, findings, outcomes),
        table=head.workspace.frame,
    )


def _floor(head: _Head, floor_ns: float | None, after_ns: float | None) -> float | None:
    """Step time with a device that never idles: that of all ranks on it.

    Fixes may overlap what the recorded step ran one after the other: then the device is busy for less of it.
    """
    if floor_ns is None:
        return None
    shared = _shared_device(head)
    busy = floor_ns if shared is None else max(floor_ns, shared.busy_ns)
    return busy if after_ns is None else min(busy, after_ns)


def _shared_device(head: _Head) -> SharedDevice | None:
    replay: Replay | None = _optional(head, "replay")
    return None if replay is None else shared_device(head.rank, _optional(head, "joint_replay"), replay.step_ns)


def _coverage(head: _Head) -> pl.DataFrame:
    """What the head's recording lacks, or could not be put together."""
    try:
        return head.workspace.frame("coverage")
    except MissingData:
        return schema.empty(schema.DATA_QUALITY)


def _by_rank(stages: Sequence[StageResult]) -> list[RankResult]:
    """The first cycle of every rank, in order; what has no number stands behind what has one."""
    chosen: dict[object, RankResult] = {}
    for result in (rank for stage in stages for rank in stage.ranks):
        if result.key not in chosen or _begins(result) < _begins(chosen[result.key]):
            chosen[result.key] = result
    return sorted(chosen.values(), key=lambda result: (result.rank is None, result.rank or 0, result.name))


def _recorded_again(stages: Sequence[StageResult], shown: Sequence[RankResult]) -> list[str]:
    """Names of the recordings that `_by_rank` left out."""
    kept = {id(result) for result in shown}
    return [result.name for stage in stages for result in stage.ranks if id(result) not in kept]


def _begins(result: RankResult) -> tuple[int, int]:
    window = result.summary.window_ns
    return result.cycle, window[0] if window is not None else 0


def _opened(chosen: RankResult, stages: Sequence[StageResult], options: Options, all_ranks: Workspace | None) -> _Head:
    """The rank's workspace, read again where another process made the rest, with its detectors run."""
    workspace = chosen.workspace
    if workspace is None:
        job = next(stage.job for stage in stages if any(one is chosen for one in stage.ranks))
        again = rank_results(job, options)
        workspace = next(one.workspace for one in again.ranks if (one.key, one.cycle) == (chosen.key, chosen.cycle))
    if workspace is None:
        raise InputError(f"{chosen.name}: it could not be read a second time")
    if all_ranks is not None:
        workspace = workspace.beside(all_ranks)
    return _Head(rank=chosen.rank, workspace=workspace, outcomes=workspace.outcomes())


def _gather(head: _Head, *, several: bool) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Outcome, ...]]:
    """Savings ranked by saving x confidence without symptoms, notes, and the head's outcomes less what was dropped."""
    found = [
        replace(finding, rank=head.rank if several and finding.rank is None else finding.rank)
        for outcome in head.outcomes
        for finding in outcome.findings
    ]
    savings = sorted((f for f in found if f.kind == "saving"), key=_worth, reverse=True)
    kept = input_paced(_without_symptoms(savings, head), _optional(head, "loader_pace"), _optional(head, "manifest") or {})
    shared = _shared_device(head)
    if shared is not None:
        kept = sorted(within_the_device(kept, shared, _optional(head, "replay")), key=_worth, reverse=True)
    notes = sorted((f for f in found if f.kind == "note"), key=lambda note: SEVEREST.index(note.severity or Severity.LOW))
    names = {f.detector for f in (*kept, *notes)}
    outcomes = tuple(
        o if o.state != "found" or o.detector.id in names else replace(o, state="clear", findings=()) for o in head.outcomes
    )
    return tuple(kept), tuple(notes), outcomes


def _without_symptoms(savings: Sequence[Finding], head: _Head) -> list[Finding]:
    """Causes first; what would be gone anyway once they are fixed is dropped, and a symptom claims only what is left."""
    replay: Replay | None = _optional(head, "replay")
    causes = {outcome.detector.id: outcome.detector.symptom_of for outcome in head.outcomes}
    found = {finding.detector for finding in savings}
    symptoms = [finding for finding in savings if found.intersection(causes[finding.detector])]
    kept: list[Finding] = []
    for finding in [*(f for f in savings if f not in symptoms), *symptoms]:
        edits = [f.edit for f in kept if f.edit is not None]
        if replay is None or finding.edit is None or not edits or not finding.step_saving_ns:
            kept.append(finding)
            continue
        before = replay.step_after(combine(*edits))
        own = before - replay.step_after(combine(*edits, finding.edit))
        if own >= MIN_OWN_SHARE * finding.step_saving_ns:
            kept.append(finding if finding not in symptoms else claim_less(finding, own, replay.step_ns))
    return sorted(kept, key=_worth, reverse=True)


def _worth(finding: Finding) -> float:
    """What findings are ranked by."""
    return (finding.step_saving_ns or 0.0) * finding.confidence


def _optional(head: _Head, name: str) -> Any:  # noqa: ANN401 - whatever the workspace holds by that name
    try:
        return head.workspace.get(name)
    except MissingData:
        return None


def _after_all_fixes(head: _Head, findings: Sequence[Finding]) -> float | None:
    """Step time with all replayed fixes played together, not added; modelled ones are left out.

    What was played with all ranks is no edit of one: the larger of both is taken, as they may be about the same time.
    """
    replay: Replay | None = _optional(head, "replay")
    if replay is None:
        return None
    replayed = [finding for finding in findings if finding.basis == "replayed"]
    edits = [finding.edit for finding in replayed if finding.edit is not None]
    after = replay.step_after(combine(*edits)) if edits else replay.step_ns
    shared = _shared_device(head)
    if shared is not None:
        after = max(after, min(shared.busy_ns, replay.step_ns))
    # together they give back no less than the best of them, whose saving may be that of the unprofiled steps
    after = min([after, *(replay.step_ns - (finding.step_saving_ns or 0.0) for finding in replayed)])
    new_pace = pace_after_fix_ns(findings, _optional(head, "loader_pace"), _optional(head, "manifest") or {})
    return after if new_pace is None else max(after, new_pace)


def _info(chosen: RankResult) -> TraceInfo:
    """What the recording holds, both windows together."""
    info, explained = chosen.info, chosen.explained
    if explained is None:
        return info
    return replace(
        info,
        has_shapes=info.has_shapes or explained.has_shapes,
        has_stacks=info.has_stacks or explained.has_stacks,
        has_memory=info.has_memory or explained.has_memory,
    )
