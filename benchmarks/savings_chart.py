"""Draws predicted against measured step times of verify_savings as an SVG that reads on light and dark pages.

Run from the project's root:  python -m benchmarks.savings_chart RESULTS.json OUT.svg
"""

from __future__ import annotations

import json
import math
import sys
from html import escape
from pathlib import Path

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 760, 470, 70, 60, 20, 20
INK, GRID, POINT, BOUND = "#6b7280", "#9ca3af55", "#2563eb", "#2563eb88"


def main() -> None:
    if len(sys.argv) < 3:  # noqa: PLR2004
        print(__doc__)
        return
    results = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(chart(results["results"], results["device"]), encoding="utf-8")


def chart(rows: list[dict[str, object]], device: str) -> str:
    """Share of the step time that is left after the fix: measured across, predicted with bounds upwards, log scale."""
    points = []
    for row in rows:
        if row["predicted_ms"] is None:
            continue
        before = float(row["before_ms"])  # type: ignore[arg-type]
        share = [float(row[key]) / before for key in ("after_ms", "predicted_ms", "low_ms", "high_ms")]  # type: ignore[arg-type]
        points.append((str(row["name"]), *share))
    least = min(0.01, *(p[1] for p in points), *(p[2] for p in points))

    def scale(value: float) -> float:
        return (math.log10(max(value, least)) - math.log10(least)) / -math.log10(least)

    def x(value: float) -> float:
        return LEFT + scale(value) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - scale(value) * (HEIGHT - BOTTOM - TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" '
        f'role="img" aria-label="Predicted against measured step time after the fix, {escape(device)}">'
    ]
    for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        if tick >= least:
            parts.append(
                f'<path d="M{x(tick):.1f} {TOP}V{HEIGHT - BOTTOM}M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
            )
            parts.append(
                f'<text x="{x(tick):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="{INK}">{tick:.0%}</text>'
            )
            parts.append(f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="{INK}">{tick:.0%}</text>')
    parts.append(f'<path d="M{x(least):.1f} {y(least):.1f}L{x(1):.1f} {y(1):.1f}" stroke="{INK}" stroke-dasharray="4 4"/>')
    for name, measured, predicted, low, high in points:
        parts.append(f'<path d="M{x(measured):.1f} {y(low):.1f}V{y(high):.1f}" stroke="{BOUND}" stroke-width="3"/>')
        parts.append(
            f'<circle cx="{x(measured):.1f}" cy="{y(predicted):.1f}" r="4.5" fill="{POINT}"><title>{escape(name)}</title></circle>'
        )
        flip = measured > 0.6  # noqa: PLR2004 - labels near the right edge go to the left of their point
        parts.append(
            f'<text x="{x(measured) + (-8 if flip else 8):.1f}" y="{y(predicted) + 4:.1f}" font-size="11" fill="{INK}" '
            f'text-anchor="{"end" if flip else "start"}">{escape(name.replace("_", " "))}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 18}" text-anchor="middle" fill="{INK}">measured step time after the fix, '
        f"share of the step before ({escape(device)})</text>"
    )
    parts.append(
        f'<text transform="translate(18 {HEIGHT / 2}) rotate(-90)" text-anchor="middle" fill="{INK}">predicted, with bounds</text>'
    )
    return "".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()
