"""Where does the step go? Its parts as segments of one bar, with the text each is labelled with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.report.amounts import Scale, percent
from analyze.report.charts.colours import part_colour
from analyze.report.step_parts import part_name, step_parts

if TYPE_CHECKING:
    from analyze.findings.model import Summary


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One part of the step."""

    name: str
    #: '50.1', in ms; the printed parts add up to the printed step
    ms: str
    #: '73%' of the step
    share: str
    #: of the bar's width, 0..1; 0 for a part that is not positive
    width: float
    colour: str


def segments(summary: Summary) -> tuple[tuple[Segment, ...], str]:
    """Return the parts, largest first, and the step in ms that they add up to; no parts where none are known."""
    parts = step_parts(summary)
    scale = Scale.of(summary)
    rounded = scale.adding_up(parts)
    total = sum(parts.values())
    drawn = sum(ns for ns in parts.values() if ns > 0)
    order = sorted((name for name in parts if rounded[name]), key=lambda name: -parts[name])
    return tuple(
        Segment(
            name=part_name(name),
            ms=scale.ms(rounded[name]),
            share=percent(parts[name] / total) if total > 0 else "",
            width=max(parts[name], 0) / drawn if drawn else 0.0,
            colour=part_colour(name, index),
        )
        for index, name in enumerate(order)
    ), scale.ms(sum(rounded.values()))
