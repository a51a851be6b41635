"""What is said of a detector's example: what ran, what was found, what it would give back, where, and how to see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.report.amounts import NS_PER_MS, Scale, percent
from analyze.report.plain_text import shown

if TYPE_CHECKING:
    from analyze.findings.examples import Example

NONE = "None of the sample runs shows it"
#: what it would take, by detector; tests/findings/test_examples.py holds this complete
IT_TAKES = {
    "data-parallel-instead-of-ddp": "one process that drives several GPUs",
    "low-clock": "a card whose clock somebody has set",
    "pcie-link-degraded": "a card whose link to the host has fallen back",
    "profiler-start-skew": "ranks whose profilers start without warming up; stepscope's own recordings warm them up",
    "slow-link": "several GPUs that exchange large tensors",
    "thermal-throttle": "a card that runs hot",
}


def none(detector: str) -> str:
    """Return the sentence for a detector that no sample run shows, with what that would take where it is known."""
    takes = IT_TAKES.get(detector)
    return f"{NONE}." if takes is None else f"{NONE}: it takes {takes}."


def sentences(example: Example) -> list[str]:
    """Return one line after another, the last one leading to the command; what came out of a trace is escaped."""
    scale = Scale.of_step(example.step_ms * NS_PER_MS)
    step = scale.ms(example.step_ms * NS_PER_MS)
    said = [f"{shown(example.label)} on {shown(example.device)}, {step} ms a step:", shown(example.message)]
    said += [] if example.saving_ms is None else [_gives_back(example, example.saving_ms, scale)]
    said += [] if example.location is None else [f"Where: {shown(example.location)}"]
    return [*said, "To see it, in a checkout of stepscope:"]


def _gives_back(example: Example, saving_ms: float, scale: Scale) -> str:
    low, high = (None if ms is None else ms * NS_PER_MS for ms in (example.low_ms, example.high_ms))
    share = f" = {percent(saving_ms / example.step_ms)}" if example.step_ms > 0 else ""
    basis = f", {example.basis}" if example.basis else ""
    return f"Gives back {scale.ms(saving_ms * NS_PER_MS)} ms ({scale.span(low, high)}) of each step{share}{basis}."


def command(example: Example) -> str:
    """Return the command that shows it."""
    return f"stepscope report {shown(example.run)}"
