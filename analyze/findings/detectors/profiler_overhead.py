"""The recording itself takes a good part of the step that it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import digits
from analyze.replay.simulate import simulate

if TYPE_CHECKING:
    from analyze.replay import Replay
    from analyze.trace_info import TraceInfo

DETECTOR = Detector(
    id="profiler-overhead",
    title="Much of the recorded step is the recording itself",
    meaning=(
        "The profiler spends a microsecond or more of host time on every event it records. Where the host sets the pace, the "
        "recorded steps are far longer than those of training, the device seems idle, and times read off the trace mislead."
    ),
    measured=(
        "Recorded step time against the unprofiled one, where that is known; else the recorded steps replayed with the usual "
        "cost per event taken off the host. All savings of this report are computed for the step without the recording."
    ),
    fix=(
        Remedy(text="Give the unprofiled step time", code="stepscope report trace.json.gz --baseline-step-ms 12.3"),
        Remedy(
            text="Record times without shapes, memory and stacks, and those in a second, short window",
            code="torch.profiler.profile(record_shapes=False, profile_memory=False, with_stack=False)",
        ),
        Remedy(text="Let the recorder do both, and measure unprofiled steps", code="stepscope collect -- train.py"),
    ),
    doc="https://docs.pytorch.org/docs/stable/profiler.html",
)

#: recorded steps this much longer than unprofiled ones are worth a note
MIN_RATIO = 1.25
#: where unprofiled steps are unknown: share of the recorded step that the usual cost per event explains
MIN_ESTIMATED_SHARE = 0.2


def detect(replay: Replay, trace_info: TraceInfo | None = None) -> list[Finding]:
    """One note with what recording costs a step, measured or estimated."""
    recorded_ns = replay.profiled_step_ns
    low, usual, high = (simulate(replay.program, cost).step_ns for cost in reversed(replay.event_cost_ns))
    events = replay.program.host_events_per_step
    if replay.baseline_known:
        if recorded_ns < MIN_RATIO * replay.step_ns:
            return []
        added = f"{digits((recorded_ns - replay.step_ns) / 1e6)} ms"
        message = (
            f"Recording makes the step {digits(recorded_ns / 1e6)} ms instead of {digits(replay.step_ns / 1e6)} ms: {added} for "
            f"{events:,.0f} events a step on the launching threads."
        )
    else:
        if usual > (1 - MIN_ESTIMATED_SHARE) * recorded_ns:
            return []
        message = (
            f"Of the recorded {digits(recorded_ns / 1e6)} ms a step, recording {events:,.0f} events takes an estimated "
            f"{digits(max(recorded_ns - usual, 0) / 1e6)} ms ({digits(max(recorded_ns - high, 0) / 1e6)} to "
            f"{digits(max(recorded_ns - low, 0) / 1e6)}); the unprofiled step time would tell."
        )
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=message + _options(trace_info),
            confidence=0.9 if replay.baseline_known else 0.5,
            severity=Severity.LOW,
            evidence=pl.DataFrame(
                {
                    "recorded_step_ns": [recorded_ns],
                    "unprofiled_step_ns": [replay.step_ns if replay.baseline_known else None],
                    "events_per_step": [events],
                    "event_cost_low_ns": [replay.event_cost_ns[0]],
                    "event_cost_ns": [replay.event_cost_ns[1]],
                    "event_cost_high_ns": [replay.event_cost_ns[2]],
                },
                schema_overrides={"unprofiled_step_ns": pl.Float64},
            ),
            thresholds={"min_ratio": MIN_RATIO, "min_estimated_share": MIN_ESTIMATED_SHARE},
        )
    ]


def _options(trace_info: TraceInfo | None) -> str:
    if trace_info is None:
        return ""
    on = {"shapes": trace_info.has_shapes, "memory": trace_info.has_memory, "stacks": trace_info.has_stacks}
    named = [name for name, recorded in on.items() if recorded]
    return f" It held {' and '.join(', '.join(named).rsplit(', ', 1))}." if named else ""
