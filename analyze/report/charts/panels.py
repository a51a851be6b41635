"""Several charts under one another on one clock: the plotly layout that they share."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from analyze.report.plain_text import shown

#: a plotly figure, data and layout, as plain values
Figure = dict[str, Any]

#: pixels of one panel, of the space above it that holds its title, and of the axis below the last
PANEL_PX, TITLE_PX, AXIS_PX, TOP_PX = 88, 30, 54, 6
#: pixels of a legend that may take several lines
LEGEND_PX = 60
BAND_OPACITY = 0.16


@dataclass(frozen=True, kw_only=True)
class Band:
    """A stretch of time marked in every panel."""

    label: str
    start_s: float
    end_s: float
    colour: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One chart: a title that ends in the unit, and its plotly traces without axes."""

    title: str
    traces: list[dict[str, Any]]
    #: where the axis ends; None lets it follow the values
    top: float | None = None
    from_zero: bool = True


def text(value: object) -> str:
    """Text of unknown origin for plotly, which reads some HTML."""
    return escape(shown(value))


def figure(panels: list[Panel], bands: list[Band], time_title: str) -> Figure:
    """Return the panels on one time axis in seconds."""
    keyed = [_key(band) for band in {band.label: band for band in bands}.values()]
    legend = bool(keyed) or any(trace.get("showlegend") for panel in panels for trace in panel.traces)
    below = AXIS_PX + LEGEND_PX * legend
    drawable = len(panels) * (PANEL_PX + TITLE_PX)
    height = TOP_PX + drawable + below
    layout: dict[str, Any] = {
        "height": height,
        "margin": {"l": 56, "r": 12, "t": TOP_PX, "b": below},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom"},
        "hovermode": "x",
        "bargap": 0,
        "barmode": "overlay",
        "xaxis": {
            "title": {"text": text(time_title)},
            "anchor": f"y{len(panels)}" if len(panels) > 1 else "y",
            "showgrid": False,
            "zeroline": False,
        },
        "annotations": [],
        "shapes": [_band(band) for band in bands],
    }
    data: list[dict[str, Any]] = []
    for index, panel in enumerate(panels):
        axis = "y" if index == 0 else f"y{index + 1}"
        top = 1 - (index * (PANEL_PX + TITLE_PX) + TITLE_PX) / drawable
        bottom = max(top - PANEL_PX / drawable, 0)
        layout[f"yaxis{axis[1:]}"] = {
            "domain": [bottom, top],
            "anchor": "x",
            "rangemode": "tozero" if panel.from_zero else "normal",
            "nticks": 4,
            "zeroline": False,
            **({} if panel.top is None else {"range": [0, panel.top]}),
        }
        layout["annotations"].append(_title(panel.title, top))
        data += [{**trace, "xaxis": "x", "yaxis": axis} for trace in panel.traces]
    return {"data": data + keyed, "layout": layout}


def _title(title: str, top: float) -> dict[str, Any]:
    place = {"xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": top, "yanchor": "bottom"}
    return {**place, "text": text(title), "showarrow": False, "font": {"size": 13}}


def _band(band: Band) -> dict[str, Any]:
    span = {"type": "rect", "xref": "x", "x0": band.start_s, "x1": band.end_s, "yref": "paper", "y0": 0, "y1": 1}
    return {**span, "fillcolor": band.colour, "opacity": BAND_OPACITY, "line": {"width": 0}, "layer": "below"}


def _key(band: Band) -> dict[str, Any]:
    """Name a band in the legend: labels inside the chart would cover one another where bands are narrow."""
    marker = {"symbol": "square", "size": 11, "color": band.colour, "opacity": 0.55}
    point = {"type": "scatter", "mode": "markers", "x": [None], "y": [None], "xaxis": "x", "yaxis": "y"}
    return {**point, "marker": marker, "name": text(band.label), "showlegend": True, "hoverinfo": "skip"}
