"""Draws predicted against measured step times of verify_savings as an SVG that reads on light and dark pages.

Run from the project's root:  python -m benchmarks.savings_chart RESULTS.json OUT.svg
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path

WIDTH, ROW, LEFT, RIGHT, TOP, BOTTOM = 760, 24, 150, 30, 34, 46
INK, GRID, PREDICTED, BOUND, MEASURED = "#6b7280", "#9ca3af55", "#2563eb", "#2563eb66", "#d97706"
ARGUMENTS = 3


def main() -> None:
    if len(sys.argv) != ARGUMENTS:
        print(__doc__)
        return
    results = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(chart(results["results"], results["device"]), encoding="utf-8")


def chart(rows: list[dict[str, object]], device: str) -> str:
    """One line per fault: the share of the step left after the fix, predicted with bounds, and measured."""
    height = TOP + ROW * len(rows) + BOTTOM
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" '
        f'role="img" aria-label="Predicted and measured step time after the fix, {escape(device)}">'
    )
    parts = [opening, *_axis(height, device)]
    for turn, row in enumerate(sorted(rows, key=lambda row: _share(row, "after_ms") or 0.0)):
        parts += _row(row, TOP + ROW * turn + ROW / 2)
    return "".join([*parts, "</svg>\n"])


def _share(row: dict[str, object], key: str) -> float | None:
    value = row[key]
    return None if value is None else float(value) / float(row["before_ms"])  # type: ignore[arg-type]


def _x(share: float) -> float:
    return LEFT + min(share, 1.0) * (WIDTH - LEFT - RIGHT)


def _axis(height: int, device: str) -> list[str]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path d="M{_x(tick):.1f} {TOP}V{height - BOTTOM}" stroke="{GRID}"/>')
        parts.append(f'<text x="{_x(tick):.1f}" y="{height - BOTTOM + 16}" text-anchor="middle" fill="{INK}">{tick:.0%}</text>')
    caption = f"step time left after the fix, share of the step before ({escape(device)})"
    parts.append(f'<text x="{_x(0.5):.1f}" y="{height - 8}" text-anchor="middle" fill="{INK}">{caption}</text>')
    parts.append(f'<circle cx="{LEFT + 8}" cy="16" r="5" fill="{PREDICTED}"/>')
    parts.append(f'<text x="{LEFT + 20}" y="20" fill="{INK}">predicted from the slow run alone, with bounds</text>')
    parts.append(f'<path d="M{LEFT + 300} 10l6 6l-6 6l-6-6z" fill="{MEASURED}"/>')
    parts.append(f'<text x="{LEFT + 312}" y="20" fill="{INK}">measured after the fix</text>')
    return parts


def _row(row: dict[str, object], y: float) -> list[str]:
    name = escape(str(row["name"]).replace("_", " "))
    parts = [f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">{name}</text>']
    low, predicted, high = (_share(row, key) for key in ("low_ms", "predicted_ms", "high_ms"))
    if predicted is not None and low is not None and high is not None:
        parts.append(f'<path d="M{_x(low):.1f} {y}H{_x(high):.1f}" stroke="{BOUND}" stroke-width="6" stroke-linecap="round"/>')
        parts.append(f'<circle cx="{_x(predicted):.1f}" cy="{y}" r="5" fill="{PREDICTED}"/>')
    measured = _x(_share(row, "after_ms") or 0.0)
    parts.append(f'<path d="M{measured:.1f} {y - 6}l6 6l-6 6l-6-6z" fill="{MEASURED}"/>')
    return parts


if __name__ == "__main__":
    main()
