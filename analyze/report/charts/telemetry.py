"""What did device and host do meanwhile? Telemetry in panels on the same clock as the steps."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.report.charts.colours import GREY, PHASES, SERIES
from analyze.report.charts.metrics import METRICS, Metric, base_name
from analyze.report.charts.panels import Band, Figure, Panel, figure, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: points drawn of one series; more are averaged into as many stretches of equal length
POINTS = 1500
#: bars drawn of the step log; more are thinned evenly
STEPS = 3000
#: clear to dark, readable on white and on near-black
COLOURSCALE = [[0, "rgba(59,125,216,0.06)"], [1, "#3b7dd8"]]
PHASE_NAMES = {
    "baseline": "steps without the profiler",
    "times": "profiled for times",
    "explanations": "profiled for explanations",
}


def device_names(manifest: Mapping[str, Any] | None) -> dict[str, str]:
    """Names of devices by UUID, from a manifest."""
    devices = [device for device in (manifest or {}).get("devices") or [] if isinstance(device, dict)]
    return {str(one.get("uuid")): f"GPU {one.get('index', '?')}" for one in devices if one.get("uuid")}


def telemetry_figure(
    telemetry: pl.DataFrame | None,
    step_log: pl.DataFrame | None,
    window_ns: tuple[int, int] | None,
    names: Mapping[str, str],
    metrics: Iterable[Metric] = METRICS,
) -> Figure | None:
    """Return the panels of the metrics that were sampled, below the step times; None where there is nothing to draw.

    `names` are those of devices by UUID. Times are seconds since the first step or sample.
    """
    zero = _first_ns(telemetry, step_log)
    if zero is None:
        return None
    panels = [] if step_log is None or step_log.is_empty() else [_steps(step_log, zero)]
    if telemetry is not None:
        drawn = ((metric, _traces(telemetry, metric, zero, names)) for metric in metrics)
        panels += [
            Panel(
                title=metric.title,
                traces=traces,
                top=None if metric.members else metric.top,
                from_zero=metric.from_zero and not metric.members,
            )
            for metric, traces in drawn
            if traces
        ]
    _name_once(panels)
    began = datetime.fromtimestamp(zero / 1e9, tz=timezone.utc)
    return figure(panels, bands(step_log, window_ns, zero), f"seconds since {began:%Y-%m-%d %H:%M:%S} UTC")


def bands(step_log: pl.DataFrame | None, window_ns: tuple[int, int] | None, zero: int) -> list[Band]:
    """Return the phases of a recorded run as bands, else the recorded window."""
    if step_log is None or step_log.is_empty():
        if window_ns is None:
            return []
        start, end = ((edge - zero) / 1e9 for edge in window_ns)
        return [Band(label="recorded window", start_s=start, end_s=end, colour=PHASES["times"])]
    runs = (
        step_log.sort("start_ns")
        .with_columns(_text("phase"), run=pl.col("phase").rle_id())
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("phase").first(),
            pl.col("start_ns").min(),
            (pl.col("start_ns") + pl.col("dur_ns")).max().alias("end_ns"),
        )
    )
    return [
        Band(label=PHASE_NAMES[phase], start_s=(start - zero) / 1e9, end_s=(end - zero) / 1e9, colour=PHASES[phase])
        for phase, start, end in runs.select("phase", "start_ns", "end_ns").rows()
        if phase in PHASES
    ]


def _first_ns(telemetry: pl.DataFrame | None, step_log: pl.DataFrame | None) -> int | None:
    columns = [frame[name] for frame, name in ((telemetry, "time_ns"), (step_log, "start_ns")) if frame is not None]
    starts = [start for start in (column.min() for column in columns) if isinstance(start, int)]
    return min(starts) if starts else None


def _text(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String)


def _steps(step_log: pl.DataFrame, zero: int) -> Panel:
    """Each step as a bar as wide as it took, the time it waited for input in front."""
    thinned = step_log.gather_every(-(-step_log.height // STEPS))
    start_s = ((thinned["start_ns"] - zero) / 1e9).to_list()
    width_s = (thinned["dur_ns"] / 1e9).to_list()
    labels = [f"step {step}, {text(phase)}" for step, phase in thinned.select("step", _text("phase")).rows()]
    bar = {"type": "bar", "x": start_s, "width": width_s, "offset": 0, "customdata": labels, "showlegend": False}
    step = {
        **bar,
        "y": (thinned["dur_ns"] / 1e6).to_list(),
        "marker": {"color": GREY, "opacity": 0.75},
        "name": "step",
        "hovertemplate": "%{y:.1f} ms<br>%{customdata}<extra></extra>",
    }
    top = _usual_step_ms(step_log)
    if thinned["input_wait_ns"].null_count() == thinned.height:
        return Panel(title="Step time, ms", traces=[step], top=top)
    waiting = {
        **bar,
        "y": (thinned["input_wait_ns"] / 1e6).to_list(),
        "marker": {"color": "#d1495b"},
        "name": "waiting for input",
        "hovertemplate": "%{y:.1f} ms waiting for input<extra></extra>",
    }
    return Panel(title="Step time, of it waiting for input (red), ms", traces=[step, waiting], top=top)


def _usual_step_ms(step_log: pl.DataFrame) -> float | None:
    """Where the axis ends: compiling or searching for algorithms, early steps take so long that the others would vanish."""
    settled = step_log.filter(_text("phase").is_in(["baseline", "times"]))["dur_ns"].max()
    return settled / 1e6 * 1.15 if isinstance(settled, int) else None


def _traces(telemetry: pl.DataFrame, metric: Metric, zero: int, names: Mapping[str, str]) -> list[dict[str, Any]]:
    chosen = (
        telemetry.lazy()
        .filter(_text("source") == metric.source, base_name() == metric.name)
        .filter(pl.col("value").is_not_null())
        .select(_text("host"), _text("device_uuid"), _text("metric"), "time_ns", "value")
        .sort("time_ns")
        .collect()
    )
    named = chosen.filter(pl.col("metric").str.contains(".", literal=True))
    # beside its members, the bare name only counts them
    chosen = named if metric.members and not named.is_empty() else chosen
    by = ["host", "device_uuid", "metric"] if metric.members else ["host", "device_uuid"]
    groups = chosen.partition_by(by, as_dict=True, maintain_order=True)
    series = {_series_name(key, names): _thinned(_rate(one) if metric.counter else one) for key, one in groups.items()}
    if metric.members:
        return _rows_of_colour(series, metric, zero) if series else []
    return [_line(name, one, metric, zero, index) for index, (name, one) in enumerate(sorted(series.items()))]


def _series_name(key: tuple[Any, ...], names: Mapping[str, str]) -> str:
    host, uuid, *member = key
    of = host if uuid is None else names.get(uuid, uuid)
    return f"{of} {member[0].partition('.')[2]}" if member else str(of)


def _line(name: str, points: pl.DataFrame, metric: Metric, zero: int, index: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines" if points.height > 1 else "markers",
        "x": ((points["time_ns"] - zero) / 1e9).to_list(),
        "y": (points["value"] / metric.divisor).to_list(),
        "line": {"color": SERIES[index % len(SERIES)], "width": 1.6},
        "name": text(name),
        "showlegend": True,
        "legendgroup": text(name),
        "hovertemplate": "%{y:,.4~g}<extra>" + text(name) + "</extra>",
    }


def _rows_of_colour(series: Mapping[str, pl.DataFrame], metric: Metric, zero: int) -> list[dict[str, Any]]:
    """One row for each member: lines of many cores would hide one another."""
    times = sorted(set().union(*(points["time_ns"].to_list() for points in series.values())))
    order = sorted(series, key=lambda name: (len(name), name))  # core 2 before core 10
    wide = pl.DataFrame({"time_ns": times})
    columns = [wide.join(series[name], on="time_ns", how="left")["value"].to_list() for name in order]
    return [
        {
            "type": "heatmap",
            "x": [(time - zero) / 1e9 for time in times],
            "y": [text(name) for name in order],
            "z": columns,
            "zmin": 0,
            "zmax": metric.top,
            "colorscale": COLOURSCALE,
            "showscale": False,
            "showlegend": False,
            "hovertemplate": "%{y}: %{z:.3~g}<extra></extra>",
        }
    ]


def _name_once(panels: list[Panel]) -> None:
    """Keep one entry of the legend for what is drawn in several panels, none where a panel draws one thing anyway."""
    named: set[str] = set()
    several = {trace["name"] for panel in panels if len(panel.traces) > 1 for trace in panel.traces}
    for trace in (trace for panel in panels for trace in panel.traces if trace["showlegend"]):
        named |= {trace["name"]} - several
        trace["showlegend"] = trace["name"] not in named
        named.add(trace["name"])


def _rate(series: pl.DataFrame) -> pl.DataFrame:
    """Per second since the sample before; a counter that went back was reset and says nothing."""
    seconds = pl.col("time_ns").diff() / 1e9
    rate = pl.col("value").diff() / pl.when(seconds > 0).then(seconds)
    return series.with_columns(value=pl.when(rate >= 0).then(rate)).filter(pl.col("value").is_not_null())


def _thinned(series: pl.DataFrame) -> pl.DataFrame:
    if series.height <= POINTS:
        return series
    each = -(-series.height // POINTS)
    return series.group_by(pl.int_range(pl.len()) // each, maintain_order=True).agg(pl.col("time_ns", "value").mean())
