"""How much energy does a step take, and how much of it would an idle device take too?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.errors import MissingData
from analyze.hardware import find
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("device_uuid", pl.Categorical, "", "device"),
    Column("phase", pl.Categorical, "", "phase of the step log: baseline steps are the unprofiled ones"),
    Column("steps", pl.Int64, "", "steps covered by the samples"),
    Column("span_ns", pl.Int64, "ns", "time of the phase's stretches, each from its first step's start to its last one's end"),
    Column("source", pl.String, "", "counter (energy counter's difference) or power (integral of power samples)"),
    Column("energy_j", pl.Float64, "J", "energy over the span, time between steps included"),
    Column("low_j", pl.Float64, "J", "lower bound"),
    Column(
        "high_j", pl.Float64, "J", "upper bound: how far the edges of the span may be off by the samples' cadence and averaging"
    ),
    Column("energy_per_step_j", pl.Float64, "J", "energy_j by steps"),
    Column("energy_per_sample_j", pl.Float64, "J", "by training samples; null where their number is unknown"),
    Column("mean_power_w", pl.Float64, "W", "energy by time"),
    Column("idle_fraction", pl.Float64, "", "share that the device would take idle; null where its idle power is not known"),
    Column("averaging_s", pl.Float64, "s", "window over which the sensor averages power: spans much shorter say little"),
)

#: NVML's power reading averages over about a second from the Ampere generation on (A100 aside)
POWER_AVERAGING_S = 1.0
#: A100 and H100 sensors look at a quarter of the time only (arXiv 2312.02741): a power integral may be off by this share
POWER_ERROR = 0.1
MIN_SAMPLES = 2


def energy_by_step(
    telemetry: pl.DataFrame,
    step_log: pl.DataFrame,
    trace_info: TraceInfo | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """One row per device and phase, over the phase's uninterrupted stretches that lie between samples; nothing is guessed."""
    spans = (
        step_log.drop_nulls("dur_ns")
        .sort("start_ns")
        .with_columns(stretch=pl.col("phase").rle_id())
        .group_by("stretch", "phase", maintain_order=True)
        .agg(
            steps=pl.len().cast(pl.Int64),
            begin=pl.col("start_ns").min(),
            end=(pl.col("start_ns") + pl.col("dur_ns")).max(),
            samples=pl.when(pl.col("samples").null_count() == 0).then(pl.col("samples").sum()),
        )
    )
    idle = _idle_power(trace_info, manifest)
    measured: list[dict[str, Any]] = []
    for source in ("counter", "power"):
        metric = "energy_j" if source == "counter" else "power_w"
        readings = telemetry.filter(pl.col("metric").cast(pl.String) == metric, pl.col("device_uuid").is_not_null())
        for device in readings["device_uuid"].unique().sort():
            if any(row["device_uuid"] == device for row in measured):
                continue
            mine = readings.filter(pl.col("device_uuid") == device).drop_nulls("value").unique("time_ns").sort("time_ns")
            covered = (span for span in spans.rows(named=True) if _covers(mine, span))
            measured += [_measured(str(device), source, mine, span) for span in covered]
    if not measured:
        raise MissingData("no device's energy or power was sampled over the steps of the run")
    return _by_phase(pl.DataFrame(measured), idle).select(column.name for column in COLUMNS)


def _by_phase(stretches: pl.DataFrame, idle_w: float | None) -> pl.DataFrame:
    energy, seconds = pl.col("energy_j"), pl.col("span_ns") / 1e9
    idle = pl.lit(idle_w, dtype=pl.Float64)
    return (
        stretches.group_by("device_uuid", "phase", "source", "averaging_s", maintain_order=True)
        .agg(
            pl.col("steps", "span_ns", "energy_j", "low_j", "high_j").sum(),
            samples=pl.when(pl.col("samples").null_count() == 0).then(pl.col("samples").sum()),
        )
        .with_columns(
            pl.col("device_uuid", "phase").cast(pl.Categorical),
            energy_per_step_j=energy / pl.col("steps"),
            energy_per_sample_j=pl.when(pl.col("samples") > 0).then(energy / pl.col("samples")),
            mean_power_w=pl.when(seconds > 0).then(energy / seconds),
            idle_fraction=pl.when(energy > 0).then((idle * seconds / energy).clip(upper_bound=1.0)),
        )
    )


def _covers(readings: pl.DataFrame, span: Mapping[str, Any]) -> bool:
    times = readings["time_ns"]
    return readings.height >= MIN_SAMPLES and int(times[0]) <= span["begin"] and int(times[-1]) >= span["end"]


def _measured(device: str, source: str, readings: pl.DataFrame, span: Mapping[str, Any]) -> dict[str, Any]:
    begin, end = span["begin"], span["end"]
    time, value = (readings["time_ns"].to_numpy() - begin) / 1e9, readings["value"].to_numpy()
    seconds = (end - begin) / 1e9
    if source == "power":
        # trapezoids between samples, as a counter that grows with them
        value = np.concatenate([[0.0], np.cumsum((value[1:] + value[:-1]) / 2 * np.diff(time))])
    at_begin, at_end = np.interp([0.0, seconds], time, value)
    energy = float(at_end - at_begin)
    off = _edge(time, value, 0.0) + _edge(time, value, seconds)
    if source == "power":
        off += POWER_ERROR * energy
    return {
        "device_uuid": device,
        "phase": span["phase"],
        "steps": span["steps"],
        "span_ns": end - begin,
        "source": source,
        "energy_j": energy,
        "low_j": max(energy - off, 0.0),
        "high_j": energy + off,
        "samples": span["samples"],
        "averaging_s": POWER_AVERAGING_S if source == "power" else 0.0,
    }


def _edge(
    time: np.ndarray[tuple[int], np.dtype[np.float64]], value: np.ndarray[tuple[int], np.dtype[np.float64]], at: float
) -> float:
    """How far the interpolated counter at an edge may be off: the smaller part of the step between its neighbours."""
    right = int(np.clip(np.searchsorted(time, at), 1, time.size - 1))
    width = time[right] - time[right - 1]
    share = (at - time[right - 1]) / width if width > 0 else 0.0
    return float(abs(value[right] - value[right - 1]) * min(share, 1 - share))


def _idle_power(trace_info: TraceInfo | None, manifest: Mapping[str, Any] | None) -> float | None:
    names = [device.name for device in trace_info.devices] if trace_info is not None else []
    names += [device.get("name") for device in (manifest or {}).get("devices") or []]
    known = next((hardware for hardware in map(find, names) if hardware is not None), None)
    return known.idle_power_w if known is not None else None
