"""A study drawn in bars: images a second, the whole training, latency, and where a step goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.report.charts.colours import GREY, PARTS
from analyze.report.charts.panels import Figure, text
from analyze.study.wording import MODES, amount, device, duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from analyze.study.model import Study

COLOURS = {"cpu": "#2a9d8f", "cuda": "#3b7dd8"}
BAR_PX, MARGIN_PX, LEGEND_PX = 34, 92, 60
#: room beside the longest bar for its number, as a share of the bar
NUMBER_ROOM = 0.35
#: what is drawn of a step, of a GPU's and a CPU's alike: the parts that it gathers, and its colour
KINDS = {
    "computing": (("compute", "forward", "backward", "optimizer"), PARTS["compute"]),
    "waiting for input": (("idle_input_wait", "input_wait"), PARTS["idle_input_wait"]),
    "waiting for launches": (("idle_launch",), PARTS["idle_launch"]),
    "copying": (("exposed_copy", "idle_blocking_copy"), PARTS["exposed_copy"]),
    "communicating": (("exposed_communication",), PARTS["exposed_communication"]),
}
REST = "other or not known"
#: less than this in every cell is left out
DRAWN_SHARE = 0.005


def throughput_figure(study: Study, mode: str) -> Figure | None:
    """Return images a second by device and batch size, with their intervals; None where the mode was not recorded."""
    rows = _by_batch(study.tables["throughput"].filter(pl.col("mode") == mode))
    ends = ("images_per_s", "images_per_s_low", "images_per_s_high")
    return _bars(rows, ends, f"Images a second, {MODES.get(mode, mode)}", "images/s", amount)


def training_time_figure(study: Study) -> Figure | None:
    """Return how long the whole training would take in each cell; None where none trained."""
    epochs = "1 epoch" if study.epochs == 1 else f"{study.epochs} epochs"
    title = f"{epochs} of {study.images_per_epoch:,} images, extrapolated"
    return _bars(_by_batch(study.tables["training_time"]), ("hours", "hours_low", "hours_high"), title, "hours", duration)


def latency_figure(study: Study) -> Figure | None:
    """Return how long a batch takes to be classified, with a line to p99; None where no inference was recorded."""
    rows = _by_batch(study.tables["inference"])
    title = "Time to classify a batch, median and p99"
    figure = _bars(rows, ("batch_p50_ms", "batch_p50_ms", "batch_p99_ms"), title, "ms", amount)
    if figure is not None:
        figure["data"][1]["text"] = [f" {amount(row['batch_p50_ms'])}, p99 {amount(row['batch_p99_ms'])}" for row in rows]
    return figure


def _by_batch(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [] if frame.is_empty() else frame.sort("batch_size", "device").to_dicts()


def _bars(
    rows: Sequence[dict[str, Any]], columns: tuple[str, str, str], title: str, unit: str, written: Callable[[float], str]
) -> Figure | None:
    """One bar a cell, a line from its low to its high end, its number beside that."""
    if not rows:
        return None
    value, low, high = ([row[name] for row in rows] for name in columns)
    ends = [one if end is None else end for one, end in zip(value, high, strict=True)]
    starts = [one if end is None else end for one, end in zip(value, low, strict=True)]
    names = [f"{device(row['device'])}, batch {row['batch_size']}" for row in rows]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": names,
        "x": value,
        "error_x": {
            "type": "data",
            "array": [end - one for end, one in zip(ends, value, strict=True)],
            "arrayminus": [one - start for one, start in zip(value, starts, strict=True)],
            "thickness": 1.2,
            "color": GREY,
        },
        "marker": {"color": [COLOURS.get(row["device"], GREY) for row in rows]},
        "hovertemplate": f"%{{x:,.4~g}} {unit}<extra></extra>",
    }
    numbers = {
        "type": "scatter",
        "mode": "text",
        "y": names,
        "x": ends,
        "text": [f" {written(one)}" for one in value],
        "textposition": "middle right",
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    layout = _layout(title, len(rows), unit)
    layout["xaxis"]["range"] = [0, max(ends) * (1 + NUMBER_ROOM)]
    return {"data": [bars, numbers], "layout": {**layout, "showlegend": False}}


def causes_figure(study: Study) -> Figure | None:
    """Return where the profiled training steps go, one bar a cell; None where none was profiled."""
    causes = study.tables["causes"]
    if causes.is_empty():
        return None
    kinds = {part: kind for kind, (parts, _) in KINDS.items() for part in parts}
    trained = (
        causes.filter(pl.col("mode") == "train")
        .with_columns(kind=pl.col("part").replace_strict(kinds, default=REST))
        .group_by("batch_size", "device", "kind")
        .agg(pl.col("share").sum())
        .sort("batch_size", "device")
    )
    cells = list(dict.fromkeys(zip(trained["device"], trained["batch_size"], strict=True)))
    traces = [
        trace
        for kind, colour in [*((kind, colour) for kind, (_, colour) in KINDS.items()), (REST, GREY)]
        if (trace := _segments(trained.filter(pl.col("kind") == kind), cells, kind, colour)) is not None
    ]
    if not traces:
        return None
    fewest = min(causes.filter(pl.col("mode") == "train")["profiled_steps"].drop_nulls().to_list(), default=None)
    basis = "" if fewest is None else f", {fewest} profiled step{'' if fewest == 1 else 's'}"
    layout = _layout(f"Where the training step goes{basis}", len(cells), "% of the step")
    layout["xaxis"]["range"] = [0, 100]
    layout["height"] += LEGEND_PX
    layout["margin"]["b"] += LEGEND_PX
    legend = {"orientation": "h", "x": 0, "yref": "container", "y": 0, "yanchor": "bottom", "traceorder": "normal"}
    return {"data": traces, "layout": {**layout, "barmode": "stack", "legend": legend}}


def _segments(rows: pl.DataFrame, cells: list[tuple[str, int]], kind: str, colour: str) -> dict[str, Any] | None:
    """One kind of time in each cell's bar; None where it is too small to be seen in all of them."""
    shares = {(row["device"], row["batch_size"]): row["share"] for row in rows.to_dicts()}
    if max(shares.values(), default=0.0) < DRAWN_SHARE:
        return None
    return {
        "type": "bar",
        "orientation": "h",
        "name": kind,
        "y": [f"{device(name)}, batch {batch}" for name, batch in cells],
        "x": [100 * shares.get(cell, 0.0) for cell in cells],
        "marker": {"color": colour},
        "hovertemplate": "%{x:.1f} %<extra>" + kind + "</extra>",
    }


def _layout(title: str, bars: int, unit: str) -> Figure:
    return {
        "height": MARGIN_PX + BAR_PX * bars,
        "margin": {"l": 104, "r": 12, "t": 34, "b": 50},
        "title": {"text": text(title), "font": {"size": 14}, "x": 0},
        "xaxis": {"title": {"text": unit}, "nticks": 5, "zeroline": False},
        "yaxis": {"type": "category", "autorange": "reversed"},
    }
