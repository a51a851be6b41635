"""What a detector says and what a report holds: plain frozen data, formatted elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from analyze.replay import Edit
    from analyze.trace_info import TraceInfo

#: replayed: the recorded window was played forward with the fix; modelled: bounded by arithmetic (confidence medium at most)
Basis = Literal["replayed", "modelled"]

#: a modelled saving is never surer than this
MODELLED_CONFIDENCE_CAP = 0.6
#: lower bounds of the words for confidence
HIGH_CONFIDENCE, MEDIUM_CONFIDENCE = 0.75, 0.4
#: shares of the step above which a saving is called high or medium
HIGH_SHARE, MEDIUM_SHARE = 0.10, 0.03


class Severity(str, Enum):
    """How much of the step is at stake."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @classmethod
    def of_share(cls, share: float) -> Severity:
        """Severity of a saving that is this share of the step (0..1)."""
        return cls.HIGH if share >= HIGH_SHARE else cls.MEDIUM if share >= MEDIUM_SHARE else cls.LOW


def confidence_word(confidence: float) -> str:
    """The word shown beside a confidence in 0..1."""
    return "high" if confidence >= HIGH_CONFIDENCE else "medium" if confidence >= MEDIUM_CONFIDENCE else "low"


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """One thing to do, with the line of code to write where there is one."""

    text: str
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class Detector:
    """What a detector is about: the one copy of its prose."""

    id: str
    title: str
    #: what it means when this is found, in words for a person who trains models
    meaning: str
    #: what is measured and how the saving is obtained
    measured: str
    #: remedies, cheapest first
    fix: tuple[Remedy, ...]
    #: where the underlying behaviour is documented
    doc: str
    #: ids of causes that show themselves as this: beside one of them only what is left without it is claimed
    symptom_of: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing found: a saving (ranked) or a note (worth knowing, no time attached)."""

    detector: str
    kind: Literal["saving", "note"] = "saving"
    #: one sentence with numbers
    message: str
    #: 0..1, earned by replay self-check, coverage, known baselines
    confidence: float
    basis: Basis | None = None
    rank: int | None = None
    #: saved of every step of the profiled or unprofiled step time the report gives; None for a note
    step_saving_ns: float | None = None
    step_saving_low_ns: float | None = None
    step_saving_high_ns: float | None = None
    #: best place the trace can name: source line, else operator, else call
    location: str | None = None
    #: a small frame: step, rank, stream, span, op, source line where known
    evidence: pl.DataFrame = field(default_factory=pl.DataFrame)
    #: thresholds used, by the constant's name
    thresholds: Mapping[str, float] = field(default_factory=dict)
    #: the replay edit that is the fix, for playing several fixes together
    edit: Edit | None = None
    #: overrides the severity that follows from the share of the step
    severity: Severity | None = None
    #: said where the fix changes training itself or is measured in something other than step time
    caveat: str | None = None
    #: the remedies that fit this run, where the detector's do not all
    fix: tuple[Remedy, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one detector in one run."""

    detector: Detector
    state: Literal["found", "clear", "skipped"]
    findings: tuple[Finding, ...] = ()
    #: why it was skipped
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """Step time in ns: of unprofiled steps where they are known."""

    median_ns: float
    mean_ns: float
    p10_ns: float | None
    p90_ns: float | None
    count: int
    profiled: bool
    #: "step log", "--baseline-step-ms", "trace", "whole trace"
    source: str
    #: mean of the profiled window
    profiled_mean_ns: float | None = None
    #: True where steps were found without markers
    inferred: bool = False


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The numbers at the top of a report, for one rank (the slowest, where there are several)."""

    #: model or script, else the trace's name
    label: str
    device: str
    device_count: int
    versions: Mapping[str, str]
    batch_size: int | None
    rank: int | None
    world_size: int | None
    step_time: StepTime | None
    #: parts of the step in ns that add up to it: compute, exposed_communication, exposed_copy, idle_<cause>…, unexplained
    step_parts_ns: Mapping[str, float]
    #: for CPU-only runs, instead: input_wait, forward, backward, optimizer, other…
    host_parts_ns: Mapping[str, float]
    device_busy_fraction: float | None
    busy_without_collectives_fraction: float | None
    samples_per_s: float | None
    replay_error_fraction: float | None
    after_all_fixes_ns: float | None
    floor_ns: float | None
    #: time ns and step number spans of the recorded window, for charts: (start_ns, end_ns)
    window_ns: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class RankSummary:
    """One line per rank of a run."""

    rank: int | None
    name: str
    summary: Summary


@dataclass(frozen=True, kw_only=True)
class Report:
    """A finished diagnosis. The terminal, the app, JSON and HTML format this and compute nothing."""

    source: str
    summary: Summary
    verdict: str
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    data_quality: pl.DataFrame
    ranks: tuple[RankSummary, ...]
    #: files not analysed: (file, reason)
    set_aside: tuple[tuple[str, str], ...]
    info: TraceInfo | None
    manifest: Mapping[str, Any] | None
    #: what to do next, most useful first: sentences or commands
    next_steps: tuple[str, ...]
    #: fetches a table or analysis by name
    table: Callable[[str], pl.DataFrame]

    @property
    def detectors(self) -> dict[str, Detector]:
        """Detectors by id."""
        return {outcome.detector.id: outcome.detector for outcome in self.outcomes}

    def fix_of(self, finding: Finding) -> tuple[Remedy, ...]:
        """What to do about a finding, cheapest first."""
        return self.detectors[finding.detector].fix if finding.fix is None else finding.fix

    @property
    def clear(self) -> tuple[str, ...]:
        """Ids of detectors that looked and found nothing."""
        return tuple(outcome.detector.id for outcome in self.outcomes if outcome.state == "clear")

    @property
    def skipped(self) -> tuple[tuple[str, str], ...]:
        """(id, reason) of detectors that could not look."""
        return tuple((o.detector.id, o.reason or "") for o in self.outcomes if o.state == "skipped")

    def _repr_html_(self) -> str:
        """Rich display in a notebook."""
        from analyze.report.html import fragment  # noqa: PLC0415 - jinja2 is only needed when a notebook shows it

        return fragment(self)
