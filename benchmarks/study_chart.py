"""Draws a study as an SVG that reads on light and dark pages: how long the whole training would take, and where its steps go.

Run from the project's root:  python -m benchmarks.study_chart sample_traces/study docs/study.svg
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.report.charts.colours import text_on
from analyze.report.charts.study import causes_figure, training_time_figure
from analyze.study import read_study

if TYPE_CHECKING:
    from analyze.report.charts.panels import Figure
    from analyze.study import Study

WIDTH, ROW, TOP, BOTTOM, BAR = 800, 30, 40, 48, 18
#: where the two panels begin and how wide they are
TIME_X, TIME_WIDTH, STEP_X, STEP_WIDTH = 112, 230, 436, 340
#: room for the number beside the longest bar
NUMBER_WIDTH = 72
INK, GRID, TIME = "#6b7280", "#9ca3af55", "#8a63d2"
ARGUMENTS = 3


def main() -> None:
    if len(sys.argv) != ARGUMENTS:
        print(__doc__)
        return
    study = read_study(sys.argv[1], cache=False)
    Path(sys.argv[2]).write_text(chart(study), encoding="utf-8")


def chart(study: Study) -> str:
    """One row per training: its extrapolated time with the interval, and the shares of its step."""
    time, step = training_time_figure(study), causes_figure(study)
    if time is None or step is None:
        sys.exit("this study holds no training that was profiled")
    names = time["data"][0]["y"]
    height = TOP + ROW * len(names) + BOTTOM
    title = f"{time['layout']['title']['text']}, and where the training step goes"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" '
        f'role="img" aria-label="{escape(title)}">'
    )
    heads = [
        _text(TIME_X, 20, time["layout"]["title"]["text"], weight=600),
        _text(STEP_X, 20, step["layout"]["title"]["text"], weight=600),
    ]
    labels = [_text(TIME_X - 8, _middle(index) + 4, name, anchor="end") for index, name in enumerate(names)]
    return "".join([opening, *heads, *labels, *_times(time), *_steps(step, names), *_legend(step, height), "</svg>\n"])


def _middle(index: int) -> float:
    return TOP + ROW * index + ROW / 2


def _times(figure: Figure) -> list[str]:
    """Bars to scale, a line over each interval, the time beside it."""
    bars, numbers = figure["data"]
    scale = (TIME_WIDTH - NUMBER_WIDTH) / max(numbers["x"])
    parts = []
    for index, hours in enumerate(bars["x"]):
        y, end = _middle(index), TIME_X + numbers["x"][index] * scale
        start = TIME_X + (hours - bars["error_x"]["arrayminus"][index]) * scale
        parts.append(_bar(TIME_X, y, hours * scale, TIME))
        parts.append(f'<path d="M{start:.1f} {y}H{end:.1f}M{start:.1f} {y - 4}v8M{end:.1f} {y - 4}v8" stroke="{INK}"/>')
        parts.append(_text(end + 6, y + 4, numbers["text"][index].strip()))
    return parts


def _steps(figure: Figure, names: list[str]) -> list[str]:
    """Segments of a bar that is the step, the share written into those with room for it."""
    parts = []
    ends = dict.fromkeys(names, 0.0)
    for trace in figure["data"]:
        for name, percent in zip(trace["y"], trace["x"], strict=True):
            x, width = STEP_X + ends[name] / 100 * STEP_WIDTH, percent / 100 * STEP_WIDTH
            y = _middle(names.index(name))
            parts.append(_bar(x, y, width, trace["marker"]["color"]))
            if percent >= 10:
                parts.append(
                    _text(x + width / 2, y + 4, f"{percent:.0f} %", anchor="middle", fill=text_on(trace["marker"]["color"]))
                )
            ends[name] += percent
    return parts


def _legend(figure: Figure, height: int) -> list[str]:
    parts, x = [], 8.0
    for trace in figure["data"]:
        parts.append(f'<rect x="{x}" y="{height - 24}" width="11" height="11" rx="2" fill="{trace["marker"]["color"]}"/>')
        parts.append(_text(x + 16, height - 14, trace["name"]))
        x += 34 + 6.4 * len(trace["name"])
    parts.append(f'<path d="M0 {height - 36}H{WIDTH}" stroke="{GRID}"/>')
    return parts


def _bar(x: float, y: float, width: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y - BAR / 2}" width="{max(width, 0.0):.1f}" height="{BAR}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = INK, weight: int = 400) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">{escape(text)}</text>'


if __name__ == "__main__":
    main()
