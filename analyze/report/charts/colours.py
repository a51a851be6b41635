"""Which colour stands for what? Middle tones, told apart on white, on near-black and by the colour-blind."""

from __future__ import annotations

from analyze.report.step_parts import part_kind

#: parts of a step: work is blue to green, waiting is warm, unknown is grey
PARTS = {
    "compute": "#3b7dd8",
    "exposed_communication": "#8a63d2",
    "exposed_copy": "#e08428",
    "idle_input_wait": "#d1495b",
    "idle_blocking_copy": "#c75b12",
    "idle_synchronisation": "#b04a8f",
    "idle_allocation": "#7d8f3a",
    "idle_launch": "#d9a514",
    "idle": "#a8766a",
    "unexplained": "#8590a2",
    "input_wait": "#d1495b",
    "forward": "#3b7dd8",
    "backward": "#2a9d8f",
    "optimizer": "#8a63d2",
    "other": "#8590a2",
}
#: anything else, in turn
SERIES = ("#3b7dd8", "#e08428", "#2a9d8f", "#d1495b", "#8a63d2", "#d9a514", "#4fa3c7", "#b04a8f")
GREY = "#8590a2"
#: phases of a recorded run
PHASES = {"baseline": "#2a9d8f", "times": "#3b7dd8", "explanations": "#8a63d2"}
#: relative luminance at which black and white text have the same contrast (WCAG 2)
BALANCED = 0.179


def part_colour(name: str, index: int) -> str:
    """Colour of a part of the step."""
    return PARTS.get(name) or PARTS.get(part_kind(name)) or SERIES[index % len(SERIES)]


def text_on(colour: str) -> str:
    """Black or white, whichever reads better on this colour."""
    red, green, blue = (_linear(int(colour[start : start + 2], 16) / 255) for start in (1, 3, 5))
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > BALANCED else "#ffffff"


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4  # noqa: PLR2004 - the sRGB curve
