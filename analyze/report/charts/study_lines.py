"""A study drawn in lines: what sensors said over the time of each training, and how its loss went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.report.charts.colours import GREY
from analyze.report.charts.metrics import GIB
from analyze.report.charts.panels import Figure, Panel, figure, text
from analyze.report.charts.study import COLOURS
from analyze.study.wording import device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import CellState, Study

#: by question: title, metric, which parts, divisor, where the axis ends
PANELS = {
    1: (
        ("GPU utilisation, %", "utilisation_percent", "GPU", 1.0, 105.0),
        ("CPU utilisation, % of all cores", "cpu_percent", "CPU", 1.0, 105.0),
    ),
    2: (
        ("GPU memory in use, GiB", "memory_used_bytes", "GPU", GIB, None),
        ("Host memory in use, GiB", "memory_used_bytes", "CPU", GIB, None),
    ),
    3: (
        ("GPU power, W", "power_w", "GPU", 1.0, None),
        ("CPU power, W", "power_w", "CPU", 1.0, None),
        ("GPU temperature, °C", "temperature_c", "GPU", 1.0, None),
        ("CPU temperature, °C", "cpu_temperature_c", "CPU", 1.0, None),
    ),
}
#: the smallest batch is solid
DASHES = ("solid", "dot", "dash", "longdash")
#: the first card of a cell is drawn as it is, others fainter
OTHER_CARD_OPACITY = 0.45
LOSS_PX = 260


def over_time_figure(study: Study, question: int) -> Figure | None:
    """Return the sensors that answer this question, on clocks that begin with each training's first step.

    None where nothing was sampled. Of a study of inference alone it is that which is drawn.
    """
    trained = [cell for cell in study.cells if cell.mode == "train"] or list(study.cells)
    cells = {cell.name: cell for cell in trained}
    named: set[str] = set()
    panels = []
    for title, metric, part, divisor, top in PANELS[question]:
        mine = study.over_time.filter(
            pl.col("metric") == metric, pl.col("part").str.starts_with(part), pl.col("cell").is_in(list(cells))
        )
        traces = []
        for (name, which), points in mine.partition_by(["cell", "part"], as_dict=True, maintain_order=True).items():
            line = _line(cells[str(name)], trained, points["seconds"].to_list(), (points["value"] / divisor).to_list())
            faint = {} if which in ("CPU", "GPU 0") else {"opacity": OTHER_CARD_OPACITY}
            traces.append({**line, **faint, "showlegend": name not in named})
            named.add(str(name))
        if traces:
            panels.append(Panel(title=title, traces=traces, top=top))
    return figure(panels, [], "seconds since each run's first step") if panels else None


def loss_figure(study: Study) -> Figure | None:
    """Return the losses of all trainings by step, side by side; None where none was logged."""
    losses = study.tables["losses"].filter(pl.col("loss") > 0)
    if losses.is_empty():
        return None
    cells = {cell.name: cell for cell in study.cells}
    traces = [
        {**_line(cells[str(name)], list(cells.values()), points["step"].to_list(), points["loss"].to_list()), "showlegend": True}
        for (name,), points in losses.partition_by(["cell"], as_dict=True, maintain_order=True).items()
    ]
    return {
        "data": traces,
        "layout": {
            "height": LOSS_PX,
            "margin": {"l": 56, "r": 12, "t": 34, "b": 88},
            "title": {"text": "Training loss by step", "font": {"size": 14}, "x": 0},
            "xaxis": {"title": {"text": "step"}, "zeroline": False, "showgrid": False},
            "yaxis": {"type": "log", "dtick": 1, "tickformat": "~g"},
            "legend": {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"},
            "hovermode": "x",
        },
    }


def _line(cell: CellState, cells: Sequence[CellState], x: list[float], y: list[float]) -> dict[str, Any]:
    """A line in the colour of its device, dashed by its batch size."""
    sizes = sorted({one.batch_size for one in cells})
    dash = DASHES[min(sizes.index(cell.batch_size), len(DASHES) - 1)]
    name = text(f"{device(cell.device)}, batch {cell.batch_size}")
    return {
        "type": "scatter",
        "mode": "lines" if len(x) > 1 else "markers",
        "x": x,
        "y": y,
        "line": {"color": COLOURS.get(cell.device, GREY), "width": 1.6, "dash": dash},
        "name": name,
        "legendgroup": name,
        "hovertemplate": "%{y:,.4~g}<extra>" + name + "</extra>",
    }
