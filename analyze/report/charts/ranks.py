"""Ranks beside one another: who was slow in which step, who came when, what waiting and transfer took, and one clock for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.report.charts.colours import PARTS
from analyze.report.charts.panels import Figure, text

if TYPE_CHECKING:
    from collections.abc import Sequence

LANE_PX, AXIS_PX, TOP_PX = 26, 56, 34
#: charts grow with the ranks up to this height, then rows become thin
MOST_PX = 900
#: collectives whose arrivals are drawn; a browser stays quick with these
COLLECTIVES = 400
#: the shortest colour scale whose numbers can be read, and the numbers that fit below a chart
SCALE_PX, MOST_TICKS = 104, 20
#: slow is warm, as everywhere else
HEAT = [[0.0, "#3b7dd8"], [0.5, "#e7e2d3"], [1.0, "#d1495b"]]
#: of a transfer that costs nothing; calls that overlap show through one another
HIDDEN = "#8a63d244"
OWN, TRANSFER, WAIT = PARTS["compute"], PARTS["exposed_communication"], PARTS["idle_input_wait"]


def step_heat(rank_steps: pl.DataFrame) -> Figure:
    """Ranks x steps: each rank's own part of each step, in ms."""
    wide = rank_steps.with_columns(own_ms=pl.col("own_ns") / 1e6).sort("step", "rank")
    steps = wide["step"].unique().sort()
    ticks = [(place, str(step)) for place, step in enumerate(steps)]
    return _heat(wide, "step", "own_ms", "own part", [f"step {step}" for step in steps], ticks=ticks, axis="step")


def arrival_heat(collective_arrivals: pl.DataFrame) -> tuple[Figure, int]:
    """Ranks x collectives: how long after the first each rank came, in ms; and how many are drawn, the most uneven.

    Those that ranks came apart to because they began to record apart are left out: they would set the scale.
    """
    counted = collective_arrivals.filter(~pl.col("profiler_start"))
    skew = counted.group_by("match").agg(pl.col("wait_ns").max())
    chosen = skew.top_k(COLLECTIVES, by="wait_ns").select("match")
    drawn = counted.join(chosen, on="match", how="semi").sort("match", "rank")
    behind = drawn.with_columns(behind_ms=pl.col("behind_ns") / 1e6)
    calls = drawn.unique("match", keep="first", maintain_order=True).select("step", "kind").rows()
    names = [text(f"{kind}, step {step}") for step, kind in calls]
    # the first collective of each step carries its number
    ticks = [(place, str(step)) for place, (step, _) in enumerate(calls) if place == 0 or calls[place - 1][0] != step]
    heat = _heat(behind, "match", "behind_ms", "behind the first", names, ticks=ticks, axis="collectives in order, from step")
    return heat, chosen.height


def split_bars(rank_steps: pl.DataFrame, collective_arrivals: pl.DataFrame | None) -> Figure:
    """Per rank and step, in ms: its own part, waiting for others, transfer; the three add up to the step."""
    each = rank_steps.group_by("rank").agg(pl.col("own_ns").mean(), pl.col("blocked_ns").mean()).sort("rank")
    waits = pl.DataFrame(schema={"rank": pl.Int64, "wait_ns": pl.Float64})
    if collective_arrivals is not None:
        steps = rank_steps["step"].n_unique()
        waits = collective_arrivals.group_by("rank").agg(wait_ns=pl.col("blocked_wait_ns").sum() / steps)
    waited = pl.min_horizontal(pl.col("wait_ns").fill_null(0.0), "blocked_ns")
    parts = each.join(waits, on="rank", how="left", maintain_order="left").select(
        "rank", own=pl.col("own_ns") / 1e6, wait=waited / 1e6, transfer=(pl.col("blocked_ns") - waited) / 1e6
    )
    lanes = _lanes(parts["rank"])
    named = (("own", "own part", OWN), ("wait", "waiting for ranks", WAIT), ("transfer", "transfer", TRANSFER))
    data = [
        {"type": "bar", "orientation": "h", "y": lanes, "x": parts[column].to_list(), "name": title, "marker": {"color": colour},
         "hovertemplate": "%{x:.3f} ms<extra>" + title + "</extra>"}
        for column, title, colour in named
    ]  # fmt: skip
    layout = _layout(lanes, "ms a step") | {"barmode": "stack", "showlegend": True, "legend": _LEGEND}
    return {"data": data, "layout": layout}


def together(collective_arrivals: pl.DataFrame, step: int) -> Figure | None:
    """One step of all ranks on one clock; None where it has no collective.

    The end of a collective that held its rank up is waiting, then transfer; what was hidden behind the rank's own work is pale.
    """
    mine = collective_arrivals.filter(pl.col("step") == step).sort("start_ns")
    if mine.is_empty():
        return None
    begin = pl.col("start_ns") - mine["start_ns"].min()
    blocked_from = begin + pl.col("dur_ns") - pl.col("blocked_ns")
    spans = mine.select(
        "rank",
        "kind",
        hidden_from=begin / 1e6,
        hidden=(pl.col("dur_ns") - pl.col("blocked_ns")) / 1e6,
        wait_from=blocked_from / 1e6,
        wait=pl.col("blocked_wait_ns") / 1e6,
        transfer_from=(blocked_from + pl.col("blocked_wait_ns")) / 1e6,
        transfer=(pl.col("blocked_ns") - pl.col("blocked_wait_ns")) / 1e6,
    )
    parts = (("hidden", "hidden behind work", HIDDEN), ("wait", "waiting for ranks", WAIT), ("transfer", "transfer", TRANSFER))
    data = [
        {"type": "bar", "orientation": "h", "y": _lanes(spans["rank"]), "base": spans[f"{name}_from"].to_list(),
         "x": spans[name].to_list(), "name": title, "marker": {"color": colour, "line": {"width": 0}},
         "customdata": [text(kind) for kind in spans["kind"]],
         "hovertemplate": "%{customdata}<br>%{x:.3f} ms from %{base:.3f} ms<extra>" + title + "</extra>"}
        for name, title, colour in parts
    ]  # fmt: skip
    layout = _layout(_lanes(spans["rank"].unique().sort()), "ms since the step's first collective began")
    return {"data": data, "layout": layout | {"barmode": "overlay", "showlegend": True, "legend": _LEGEND}}


_SCALE = {"title": {"text": "ms", "side": "right"}, "thickness": 12, "nticks": 4, "lenmode": "pixels"}
_LEGEND = {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"}


def _heat(
    frame: pl.DataFrame,
    across: str,
    value: str,
    title: str,
    names: Sequence[str],
    *,
    ticks: Sequence[tuple[int, str]],
    axis: str,
) -> Figure:
    wide = frame.pivot(on=across, index="rank", values=value).sort("rank")
    lanes = _lanes(wide["rank"])
    scale_px = min(max(SCALE_PX, LANE_PX * len(lanes)), MOST_PX // 2)
    data: list[dict[str, Any]] = [
        {"type": "heatmap", "z": wide.drop("rank").rows(), "y": lanes, "x": list(range(len(names))), "colorscale": HEAT,
         "customdata": [list(names)] * len(lanes), "colorbar": _SCALE | {"len": scale_px},
         "hovertemplate": "%{y}, %{customdata}<br>%{z:.3f} ms<extra>" + title + "</extra>"}
    ]  # fmt: skip
    layout = _layout(lanes, axis, fewest=SCALE_PX // LANE_PX)
    every = -(-len(ticks) // MOST_TICKS)
    shown = ticks[::every]
    layout["xaxis"] |= {"tickvals": [place for place, _ in shown], "ticktext": [label for _, label in shown], "fixedrange": False}
    return {"data": data, "layout": layout}


def _lanes(ranks: pl.Series) -> list[str]:
    return [f"rank {rank}" for rank in ranks]


def _layout(lanes: Sequence[str], title: str, fewest: int = 2) -> dict[str, Any]:
    return {
        "height": min(TOP_PX + LANE_PX * max(len(lanes), fewest) + AXIS_PX, MOST_PX),
        "margin": {"l": 8, "r": 12, "t": TOP_PX, "b": AXIS_PX},
        "xaxis": {"title": {"text": title}, "zeroline": False},
        "yaxis": {
            "type": "category",
            "categoryarray": list(reversed(lanes)),
            "categoryorder": "array",
            "automargin": True,
            "fixedrange": True,
        },
    }


def who_is_slow(late: pl.DataFrame) -> pl.DataFrame:
    """The ranks, slowest first: own part, excess, noise, and the cause where the excess is beyond the noise."""
    return late.select(
        "rank",
        own_ms=(pl.col("own_ns") / 1e6).round(2),
        more_than_others_ms=(pl.col("excess_ns") / 1e6).round(2),
        noise_ms=(pl.col("noise_ns") / 1e6).round(2),
        beyond_noise="significant",
        most_in=pl.when("significant").then("cause"),
        came_last_percent=(pl.col("last_fraction") * 100).round(1),
        waits_ms=(pl.col("waits_ns") / 1e6).round(2),
    )


def devices_of(states: pl.DataFrame) -> pl.DataFrame:
    """The ranks' devices: what is known of any, memory in GB."""
    known = states.select(each for each in states.columns if states[each].null_count() < states.height)
    memory = [each for each in ("peak_bytes", "memory_total_bytes") if each in known.columns]
    return known.with_columns((pl.col(each) / 1e9).round(2).alias(each.replace("_bytes", "_gb")) for each in memory).drop(memory)
