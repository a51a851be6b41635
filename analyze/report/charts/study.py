"""A study drawn: images a second of each cell, and what its sensors said over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.report.charts.colours import SERIES
from analyze.report.charts.metrics import GIB
from analyze.report.charts.panels import Figure, Panel, figure, text
from analyze.study.wording import MODES, amount, device

if TYPE_CHECKING:
    from analyze.study.model import Study

COLOURS = {"cpu": "#2a9d8f", "cuda": "#3b7dd8"}
#: title, metric, which parts, divisor, where the axis ends
PANELS = (
    ("GPU utilisation, %", "utilisation_percent", "GPU", 1.0, 105.0),
    ("CPU utilisation, % of all cores", "cpu_percent", "CPU", 1.0, 105.0),
    ("GPU power, W", "power_w", "GPU", 1.0, None),
    ("CPU power, W", "power_w", "CPU", 1.0, None),
    ("GPU temperature, °C", "temperature_c", "GPU", 1.0, None),
    ("CPU temperature, °C", "cpu_temperature_c", "CPU", 1.0, None),
    ("GPU memory in use, GiB", "memory_used_bytes", "GPU", GIB, None),
    ("Host memory in use, GiB", "memory_used_bytes", "CPU", GIB, None),
)
FROM_ZERO_NOT = ("temperature_c", "cpu_temperature_c")
BAR_PX, MARGIN_PX = 42, 120


def throughput_figure(study: Study, mode: str) -> Figure | None:
    """Return images a second by device and batch size, with their intervals; None where the mode was not recorded."""
    rows = study.tables["throughput"].filter(pl.col("mode") == mode).sort("batch_size", "device").to_dicts()
    if not rows:
        return None
    traces = [_bars([row for row in rows if row["device"] == name], name) for name in COLOURS]
    drawn = [trace for trace in traces if trace["x"]]
    return {
        "data": drawn,
        "layout": {
            "height": MARGIN_PX + BAR_PX * len(rows),
            "margin": {"l": 90, "r": 20, "t": 34, "b": 44},
            "title": {"text": f"Images a second, {MODES[mode]}", "font": {"size": 14}, "x": 0},
            "xaxis": {"rangemode": "tozero", "title": {"text": "images/s"}},
            "yaxis": {"type": "category", "autorange": "reversed"},
            "legend": {"orientation": "h", "y": 1.12, "x": 1, "xanchor": "right"},
            "barmode": "group",
        },
    }


def _bars(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    rates = [row["images_per_s"] for row in rows]
    ends = [[row[f"images_per_s_{end}"] for row in rows] for end in ("high", "low")]
    above, below = ([0 if end is None else abs(end - rate) for end, rate in zip(side, rates, strict=True)] for side in ends)
    return {
        "type": "bar",
        "orientation": "h",
        "name": device(name),
        "y": [f"batch {row['batch_size']}" for row in rows],
        "x": rates,
        "error_x": {"type": "data", "array": above, "arrayminus": below, "thickness": 1.2},
        "marker": {"color": COLOURS[name]},
        "text": [amount(rate) for rate in rates],
        "hovertemplate": "%{x:,.4~g} images/s<extra></extra>",
    }


def over_time_figure(study: Study) -> Figure | None:
    """Return the sensors of all cells, on clocks that begin with each cell's first step; None where nothing was sampled."""
    if study.over_time.is_empty():
        return None
    cells = [cell.name for cell in study.cells]
    colours = {name: SERIES[index % len(SERIES)] for index, name in enumerate(cells)}
    named: set[str] = set()
    panels = []
    for title, metric, part, divisor, top in PANELS:
        mine = study.over_time.filter(pl.col("metric") == metric, pl.col("part").str.starts_with(part))
        traces = [
            _line(key, points, colours, divisor, named)
            for key, points in mine.partition_by(["cell", "part"], as_dict=True, maintain_order=True).items()
        ]
        if traces:
            panels.append(Panel(title=title, traces=traces, top=top, from_zero=metric not in FROM_ZERO_NOT))
    return figure(panels, [], "seconds since each cell's first step") if panels else None


def _line(key: tuple[Any, ...], points: pl.DataFrame, colours: dict[str, str], divisor: float, named: set[str]) -> dict[str, Any]:
    cell, part = str(key[0]), str(key[1])
    first = cell not in named
    named.add(cell)
    return {
        "type": "scatter",
        "mode": "lines" if points.height > 1 else "markers",
        "x": points["seconds"].to_list(),
        "y": (points["value"] / divisor).to_list(),
        # the second card of a cell is dashed in its colour
        "line": {"color": colours.get(cell, SERIES[0]), "width": 1.5, "dash": "solid" if part in ("CPU", "GPU 0") else "dot"},
        "name": text(cell),
        "legendgroup": text(cell),
        "showlegend": first,
        "hovertemplate": "%{y:,.4~g}<extra>" + text(f"{cell}, {part}") + "</extra>",
    }
