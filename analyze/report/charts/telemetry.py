"""What did device and host do meanwhile? Telemetry in panels on the same clock as the steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.report.charts.colours import GREY, PHASES, SERIES
from analyze.report.charts.panels import Band, Figure, Panel, figure, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from analyze.findings.model import Summary

#: points drawn of one series; more are averaged into as many stretches of equal length
POINTS = 1500
#: bars drawn of the step log; more are thinned evenly
STEPS = 3000
GIB = 1024**3
PHASE_NAMES = {
    "baseline": "steps without the profiler",
    "times": "profiled for times",
    "explanations": "profiled for explanations",
}


@dataclass(frozen=True, kw_only=True)
class Metric:
    """How one sampled metric is drawn."""

    title: str
    source: str
    name: str
    #: a value in the title's unit is value / divisor
    divisor: float = 1.0
    #: a running count, drawn as its rate per second
    counter: bool = False
    top: float | None = None
    from_zero: bool = True
    #: drawn unless the user chooses otherwise
    usual: bool = True


#: in the order of reading: is the device busy, what does it cost, is the host the reason
METRICS = (
    Metric(title="GPU utilisation, %", source="nvml", name="utilisation_percent", top=105),
    Metric(title="GPU power, W", source="nvml", name="power_w"),
    Metric(title="GPU memory, GiB", source="nvml", name="memory_used_bytes", divisor=GIB),
    Metric(title="GPU temperature, °C", source="nvml", name="temperature_c", from_zero=False),
    Metric(title="GPU SM clock, MHz", source="nvml", name="sm_clock_mhz", from_zero=False),
    Metric(title="CPU, % of all cores", source="psutil", name="cpu_percent", top=105),
    Metric(title="Training process CPU, % of one core", source="psutil", name="process_cpu_percent"),
    Metric(title="Host memory, GiB", source="psutil", name="memory_used_bytes", divisor=GIB),
    Metric(title="CPU temperature, °C", source="psutil", name="cpu_temperature_c", from_zero=False),
    Metric(title="Disk reads, MB/s", source="psutil", name="disk_read_bytes", divisor=1e6, counter=True),
    Metric(title="Network received, MB/s", source="psutil", name="net_received_bytes", divisor=1e6, counter=True),
)
#: enough to see whether the device is fed, and at what cost
OVERVIEW = ("utilisation_percent", "power_w", "memory_used_bytes", "temperature_c", "cpu_percent", "cpu_temperature_c")


def overview_metrics(summary: Summary) -> tuple[Metric, ...]:
    """Return the metrics that matter most; of a CPU-only run those of the host alone."""
    device = bool(summary.step_parts_ns) or summary.device_busy_fraction is not None
    return tuple(metric for metric in METRICS if metric.name in OVERVIEW and (device or metric.source != "nvml"))


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
            Panel(title=metric.title, traces=traces, top=metric.top, from_zero=metric.from_zero)
            for metric, traces in drawn
            if traces
        ]
    _name_once(panels)
    began = datetime.fromtimestamp(zero / 1e9, tz=timezone.utc)
    return figure(panels, bands(step_log, window_ns, zero), f"seconds since {began:%Y-%m-%d %H:%M:%S} UTC")


def sampled(telemetry: pl.DataFrame) -> tuple[Metric, ...]:
    """Return every metric with a value, the known ones first, then the others under their own names."""
    pairs = telemetry.filter(pl.col("value").is_not_null()).select(_text("source"), _text("metric"), _text("unit"))
    found = {(source, name): unit for source, name, unit in pairs.unique(maintain_order=True).rows()}
    known = [metric for metric in METRICS if found.pop((metric.source, metric.name), None) is not None]
    others = [
        Metric(
            title=f"{source} {name.replace('_', ' ')}{', ' + unit if unit else ''}",
            source=source,
            name=name,
            usual=False,
        )
        for (source, name), unit in sorted(found.items())
    ]
    return (*known, *others)


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
    if thinned["input_wait_ns"].null_count() == thinned.height:
        return Panel(title="Step time, ms", traces=[step])
    waiting = {
        **bar,
        "y": (thinned["input_wait_ns"] / 1e6).to_list(),
        "marker": {"color": "#d1495b"},
        "name": "waiting for input",
        "hovertemplate": "%{y:.1f} ms waiting for input<extra></extra>",
    }
    return Panel(title="Step time, of it waiting for input (red), ms", traces=[step, waiting])


def _traces(telemetry: pl.DataFrame, metric: Metric, zero: int, names: Mapping[str, str]) -> list[dict[str, Any]]:
    chosen = (
        telemetry.lazy()
        .filter(_text("source") == metric.source, _text("metric") == metric.name)
        .filter(pl.col("value").is_not_null())
        .select(_text("host"), _text("device_uuid"), "time_ns", "value")
        .sort("time_ns")
        .collect()
    )
    groups = chosen.partition_by("host", "device_uuid", as_dict=True, maintain_order=True)
    traces = []
    for index, ((host, uuid), series) in enumerate(sorted(groups.items(), key=lambda item: str(item[0]))):
        name = names.get(str(uuid), str(uuid)) if uuid is not None else str(host)
        points = _thinned(_rate(series) if metric.counter else series)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines" if points.height > 1 else "markers",
                "x": ((points["time_ns"] - zero) / 1e9).to_list(),
                "y": (points["value"] / metric.divisor).to_list(),
                "line": {"color": SERIES[index % len(SERIES)], "width": 1.6},
                "name": text(name),
                "showlegend": len(groups) > 1,
                "legendgroup": text(name),
                "hovertemplate": "%{y:,.4~g}<extra>" + text(name) + "</extra>",
            }
        )
    return traces


def _name_once(panels: list[Panel]) -> None:
    """Keep one entry of the legend for what is drawn in several panels."""
    named: set[str] = set()
    for trace in (trace for panel in panels for trace in panel.traces if trace["showlegend"]):
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
