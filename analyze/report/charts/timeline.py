"""What ran when in one step? Device streams and launching threads as lanes, the longest items drawn."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyze.report.charts.colours import GREY
from analyze.report.charts.panels import Figure, text

#: items drawn; a browser stays quick with these, and what is left out is counted
ITEMS = 2500
#: characters of a name shown on hovering
NAME_CHARACTERS = 160
LANE_PX, AXIS_PX, TOP_PX = 34, 56, 34
#: arithmetic is blue to green, moving and rearranging is warm, small pointwise work is pale
KINDS = {
    "gemm": "#3b7dd8",
    "convolution": "#2a9d8f",
    "attention": "#4fa3c7",
    "normalization": "#7cb342",
    "softmax": "#a3b83a",
    "pooling": "#5d9c76",
    "reduction": "#6f8fb8",
    "optimizer": "#b04a8f",
    "collective": "#8a63d2",
    "copy": "#e08428",
    "layout": "#c98a5a",
    "memset": "#b39b7a",
    "embedding": "#c77d9b",
    "elementwise": "#9fa8c9",
    "random": "#a58fb5",
    "sort": "#8f7f6a",
    "launch": "#d9a514",
    "waiting call": "#d1495b",
    "operator": "#3b7dd8",
}

LANE = {"lane": pl.String, "kind": pl.String, "name": pl.String, "start_ns": pl.Int64, "dur_ns": pl.Int64}


def items(
    step: int,
    kernels: pl.DataFrame | None,
    copies: pl.DataFrame | None,
    launches: pl.DataFrame | None,
    cpu_ops: pl.DataFrame | None,
) -> pl.DataFrame:
    """Return lane, kind, name, start_ns and dur_ns of a step's items; without device work, of its outermost operators."""
    frames = [pl.DataFrame(schema=LANE)]
    stream = pl.format(
        "device {} stream {}",
        pl.col("device").cast(pl.String).fill_null("?"),
        pl.col("stream").cast(pl.String).fill_null("?"),
    )
    if launches is not None:
        waits = pl.col("blocking").cast(pl.String).fill_null("none") != "none"
        kind = pl.when(waits).then(pl.lit("waiting call")).otherwise(pl.lit("launch"))
        frames.append(_lane(launches, step, pl.format("host thread {}", pl.col("thread").cast(pl.String)), kind))
    if kernels is not None:
        frames.append(_lane(kernels, step, stream, pl.col("kind").cast(pl.String).fill_null("other")))
    if copies is not None:
        frames.append(_lane(copies, step, stream, pl.lit("copy")))
    if cpu_ops is not None and all(frame.is_empty() for frame in frames):
        outermost = cpu_ops.filter(pl.col("depth") == 0)
        thread = pl.format("host thread {}", pl.col("thread").cast(pl.String))
        frames.append(_lane(outermost, step, thread, pl.lit("operator")))
    return pl.concat(frames).drop_nulls(["start_ns", "dur_ns"])


def timeline_figure(shown_items: pl.DataFrame, zero_ns: int) -> tuple[Figure, int]:
    """Return the figure, times in ms since `zero_ns`, and how many of the items are drawn: the longest."""
    drawn = shown_items.top_k(ITEMS, by="dur_ns").sort("start_ns")
    lanes = shown_items["lane"].unique(maintain_order=True).to_list()
    kinds = drawn.group_by("kind").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)["kind"].to_list()
    data = [_bars(drawn.filter(pl.col("kind") == kind), KINDS.get(kind, GREY), kind, zero_ns) for kind in kinds]
    first_ms = ((shown_items["start_ns"] - zero_ns) / 1e6).min()
    last_ms = ((shown_items["start_ns"] + shown_items["dur_ns"] - zero_ns) / 1e6).max()
    layout = {
        "height": TOP_PX + LANE_PX * max(len(lanes), 2) + AXIS_PX,
        "margin": {"l": 8, "r": 12, "t": TOP_PX, "b": AXIS_PX},
        "barmode": "overlay",
        "showlegend": True,
        "bargap": 0.25,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "xaxis": {
            "title": {"text": "ms since the step began on the host"},
            "zeroline": False,
            "range": [min(first_ms, 0), last_ms],
        },
        "yaxis": {
            "type": "category",
            "categoryarray": [text(lane) for lane in reversed(lanes)],
            "categoryorder": "array",
            "automargin": True,
            "fixedrange": True,
        },
    }
    return {"data": data, "layout": layout}, drawn.height


def _lane(frame: pl.DataFrame, step: int, lane: pl.Expr, kind: pl.Expr) -> pl.DataFrame:
    return frame.filter(pl.col("step") == step).select(
        lane=lane, kind=kind, name=pl.col("name").cast(pl.String), start_ns="start_ns", dur_ns="dur_ns"
    )


def _bars(frame: pl.DataFrame, colour: str, kind: str, zero_ns: int) -> dict[str, Any]:
    names = [text(name[:NAME_CHARACTERS]) for name in frame["name"].fill_null("<unnamed>").to_list()]
    return {
        "type": "bar",
        "orientation": "h",
        "y": [text(lane) for lane in frame["lane"].to_list()],
        "base": ((frame["start_ns"] - zero_ns) / 1e6).to_list(),
        "x": (frame["dur_ns"] / 1e6).to_list(),
        "customdata": names,
        "marker": {"color": colour, "line": {"width": 0}},
        "name": text(kind),
        "hovertemplate": "%{customdata}<br>%{x:.3f} ms from %{base:.3f} ms<extra>" + text(kind) + "</extra>",
    }
