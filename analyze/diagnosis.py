"""From paths to a finished Report: reads, runs every detector on every rank, ranks what was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze import ingest, schema
from analyze.engine import Workspace
from analyze.errors import InputError, MissingData
from analyze.findings.model import Finding, Outcome, RankSummary, Report, Summary
from analyze.findings.saving import claim_less
from analyze.replay.edits import combine
from analyze.summary import summarise
from analyze.verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analyze.ingest import Limits, Progress, Recording, Trace
    from analyze.replay import Replay
    from analyze.schema import TraceInfo

#: a finding keeps its place only if this share of its saving is left once the better ones are fixed: else it is a symptom
MIN_OWN_SHARE = 0.25


@dataclass(frozen=True, kw_only=True)
class RankResult:
    """What the per-rank stage returns: small, and a pure function of one rank's files."""

    name: str
    rank: int | None
    workspace: Workspace
    explained: TraceInfo | None
    summary: Summary
    outcomes: tuple[Outcome, ...]


def diagnose(
    *paths: str,
    baseline_step_ms: float | None = None,
    rank: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    limits: Limits | None = None,
    cache: bool = True,
) -> Report:
    """Diagnose whatever lies under the paths; raises InputError with one line where nothing can be read.

    rank puts that rank at the head of the report; otherwise the one with the longest step is.
    """
    recording = ingest.read(list(paths), limits=limits or ingest.Limits(), progress=progress, cancel=cancel, cache=cache)
    results = [rank_result(recording, chosen, explained, baseline_step_ms) for chosen, explained in _by_rank(recording)]
    head = _head(results, rank)
    findings, notes, outcomes = _gather(results, head)
    summary = replace(head.summary, after_all_fixes_ns=_after_all_fixes(head, findings))
    return Report(
        source=recording.source,
        summary=summary,
        verdict=verdict(summary, findings, {o.detector.id: o.detector for o in outcomes}),
        findings=findings,
        notes=notes,
        outcomes=outcomes,
        data_quality=_data_quality(recording),
        ranks=tuple(RankSummary(rank=r.rank, name=r.name, summary=r.summary) for r in results),
        set_aside=tuple((aside.file, aside.reason) for aside in recording.set_aside),
        info=_info(head),
        manifest=recording.manifests.get(head.rank or 0),
        next_steps=_next_steps(summary, findings, outcomes),
        table=head.workspace.frame,
    )


def _by_rank(recording: Recording) -> list[tuple[Trace, Trace | None]]:
    """For each rank the trace that is analysed, and the one that explains it."""
    usable = [trace for trace in recording.traces if trace.window != "explanations"] or list(recording.traces)
    if not usable:
        raise InputError(f"{recording.source}: no trace in it could be read")
    chosen: dict[object, Trace] = {}
    for trace in usable:
        key = trace.rank if trace.rank is not None else trace.path
        if key not in chosen or trace.cycle < chosen[key].cycle:
            chosen[key] = trace
    explaining = {trace.rank: trace for trace in recording.traces if trace.window == "explanations"}
    ordered = sorted(chosen.values(), key=lambda trace: (trace.rank is None, trace.rank or 0, trace.name))
    return [(trace, explaining.get(trace.rank) if trace.window == "times" else None) for trace in ordered]


def rank_result(recording: Recording, trace: Trace, explained: Trace | None, baseline_step_ms: float | None) -> RankResult:
    """The per-rank stage: sources in, outcomes out."""
    only_rank = trace.rank if trace.rank is not None else 0
    log = recording.step_log
    sources: dict[str, Any] = {
        **trace.frames,
        "trace_info": trace.info,
        "rank": trace.rank,
        "data_quality": trace.data_quality,
        "telemetry": recording.telemetry,
        "telemetry_header": recording.telemetry_header or None,
        "step_log": None if log is None else log.filter(pl.col("rank") == only_rank),
        "manifest": recording.manifests.get(only_rank),
        "baseline_step_ms": baseline_step_ms,
        "explained": None if explained is None else explained.frames,
    }
    workspace = Workspace(sources)
    summary = summarise(workspace, trace.name)
    return RankResult(
        name=trace.name,
        rank=trace.rank,
        workspace=workspace,
        explained=None if explained is None else explained.info,
        summary=summary,
        outcomes=workspace.outcomes(),
    )


def _head(results: Sequence[RankResult], rank: int | None) -> RankResult:
    if rank is not None:
        found = [result for result in results if result.rank == rank]
        if not found:
            known = ", ".join(str(result.rank) for result in results if result.rank is not None) or "none"
            raise InputError(f"there is no rank {rank} in this run; ranks: {known}")
        return found[0]
    return max(results, key=lambda result: result.summary.step_time.mean_ns if result.summary.step_time else 0)


def _gather(
    results: Sequence[RankResult], head: RankResult
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Outcome, ...]]:
    """Savings ranked by saving x confidence without symptoms, notes, and the head's outcomes less what was dropped."""
    several = len(results) > 1
    found = [
        replace(finding, rank=head.rank if several and finding.rank is None else finding.rank)
        for outcome in head.outcomes
        for finding in outcome.findings
    ]
    savings = sorted((f for f in found if f.kind == "saving"), key=_worth, reverse=True)
    kept = _without_symptoms(savings, head)
    notes = [f for f in found if f.kind == "note"]
    names = {f.detector for f in (*kept, *notes)}
    outcomes = tuple(
        o if o.state != "found" or o.detector.id in names else replace(o, state="clear", findings=()) for o in head.outcomes
    )
    return tuple(kept), tuple(notes), outcomes


def _without_symptoms(savings: Sequence[Finding], head: RankResult) -> list[Finding]:
    """Causes first; what would be gone anyway once they are fixed is dropped, and a symptom claims only what is left."""
    replay = _replay(head)
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


def _replay(result: RankResult) -> Replay | None:
    try:
        replay: Replay = result.workspace.get("replay")
    except MissingData:
        return None
    return replay


def _after_all_fixes(head: RankResult, findings: Sequence[Finding]) -> float | None:
    """Step time with all replayed fixes played together, not added; modelled ones are left out."""
    replay = _replay(head)
    edits = [finding.edit for finding in findings if finding.edit is not None and finding.basis == "replayed"]
    if replay is None:
        return None
    return replay.step_after(combine(*edits)) if edits else replay.step_ns


def _info(head: RankResult) -> TraceInfo:
    """What the recording holds, both windows together."""
    info: TraceInfo = head.workspace.get("trace_info")
    if head.explained is None:
        return info
    return replace(
        info,
        has_shapes=info.has_shapes or head.explained.has_shapes,
        has_stacks=info.has_stacks or head.explained.has_stacks,
        has_memory=info.has_memory or head.explained.has_memory,
    )


def _data_quality(recording: Recording) -> pl.DataFrame:
    frames = [trace.data_quality for trace in recording.traces]
    return pl.concat([schema.empty(schema.DATA_QUALITY), *frames])


def _next_steps(summary: Summary, findings: Sequence[Finding], outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    steps = []
    if findings:
        steps.append(f"stepscope explain {findings[0].detector}")
    if summary.step_time is not None and summary.step_time.profiled:
        steps.append("give the step time measured without the profiler: --baseline-step-ms MS (it sharpens every saving)")
    lacking = [o.reason or "" for o in outcomes if o.state == "skipped"]
    if any("shapes" in reason or "stacks" in reason or "memory events" in reason for reason in lacking):
        steps.append("record with shapes, memory and stacks to check the rest: stepscope collect -- your_script.py")
    if not findings:
        steps.append("stepscope export PATH --table kernel_breakdown shows where the device time goes")
    return tuple(steps)
