"""Names of the parts of a step, and the bar that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.report.plain_text import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.findings.model import Summary

GLYPHS = {"compute": "█", "exposed_communication": "▓", "exposed_copy": "▒", "idle": "░", "unexplained": "·"}
#: for parts of CPU-only steps, which have names of their own
OTHER_GLYPHS = "█▓▒░·"


def step_parts(summary: Summary) -> Mapping[str, float]:
    """Parts of the step in ns: the device's, else the host's on a CPU-only run."""
    return summary.step_parts_ns or summary.host_parts_ns


def part_kind(name: str) -> str:
    """The part's name, 'idle' for idle of any cause."""
    return "idle" if name.partition("_")[0] == "idle" else name


def part_name(name: str) -> str:
    """'exposed copy', 'idle: launch'."""
    kind, _, cause = name.partition("_")
    return shown(f"idle: {cause.replace('_', ' ')}" if kind == "idle" and cause else name.replace("_", " "))


def bar(parts_ns: Mapping[str, float], width: int) -> str:
    """A bar of this many characters, largest part first."""
    positive = {name: ns for name, ns in parts_ns.items() if ns > 0}
    total = sum(positive.values())
    if not total:
        return "·" * width
    order = sorted(positive, key=lambda name: -positive[name])
    ends, so_far = [], 0.0
    for name in order:
        so_far += positive[name]
        ends.append(round(so_far / total * width))
    text = ""
    for index, (name, end) in enumerate(zip(order, ends, strict=True)):
        text += glyph(name, index) * (end - len(text))
    return text


def glyph(name: str, index: int) -> str:
    """The character a part is drawn with."""
    return GLYPHS.get(part_kind(name)) or OTHER_GLYPHS[index % len(OTHER_GLYPHS)]
