"""How far is a report to be trusted? One sentence for each thing that bears on it, the weightiest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.report.amounts import Scale, counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Report

#: a replay is never said to be more exact than this
SMALLEST = 0.001
#: records a trace may lack, and what that costs
LACKING = {
    "has_shapes": "input shapes, so work cannot be held against what the device could do",
    "has_stacks": "Python stacks, so places are operators and not lines of your code",
    "has_memory": "memory events, so allocation is not looked at",
}


def trust_sentences(report: Report) -> Iterator[str]:
    """Yield what to know before believing the numbers."""
    yield _replay(report)
    yield from _step_time(report)
    if report.info is not None:
        yield from (f"The trace has no {what}." for flag, what in LACKING.items() if not getattr(report.info, flag))
        if report.info.truncated:
            yield "The file ends too early: what came after its end is lost."
    for cause, count, detail in report.data_quality.select("cause", "count", "detail").rows():
        yield f"{cause}: {count:,}{'; ' + detail if detail else ''}."
    for file, reason in report.set_aside:
        yield f"{file} was set aside: {reason}."


def _replay(report: Report) -> str:
    error = report.summary.replay_error_fraction
    if error is None:
        return "The recorded window could not be played again, so no saving here was checked against a replay."
    exact_to = percent(max(abs(error), SMALLEST))
    return f"Played again without any fix, the recorded window takes as long as measured to within {exact_to}."


def _step_time(report: Report) -> Iterator[str]:
    time = report.summary.step_time
    if time is None:
        yield "No steps were found, so times are of the whole trace."
        return
    kind = "profiled" if time.profiled else "unprofiled"
    yield f"Step times are of {counted(time.count, f'{kind} step')}, from the {time.source}."
    if time.inferred:
        yield "The trace marks no steps: where they begin was inferred."
    if time.profiled:
        yield "Profiling makes steps longer, and how much is unknown here: give the step time without it, if you know it."
    elif time.profiled_mean_ns is not None:
        yield f"Under the profiler a step took {Scale.of(report.summary).ms(time.profiled_mean_ns)} ms on average."
