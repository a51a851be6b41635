"""How much power, heat and energy in each cell, and how much of it would idle devices take?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.scalars import number_or_none
from analyze.schema import Column
from analyze.study.stretch import card_names, spans, stretch, within
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from analyze.study.model import Measured

    Floats = NDArray[np.float64]

COLUMNS = (
    *CELL,
    Column("part", pl.String, "", "CPU (all packages of the host), GPU 0, GPU 1 …"),
    Column("source", pl.String, "", "counter (an energy counter), power (an integral of power samples); null: temperature alone"),
    Column("mean_w", pl.Float64, "W", "energy by time over the measured steps; null where it is not known"),
    Column("limit_w", pl.Float64, "W", "power that the card may draw; null where not known"),
    Column("highest_c", pl.Float64, "°C", "highest temperature; null where not sampled"),
    Column("idle_w", pl.Float64, "W", "mean power of the same GPU while this study trained on the CPU; null where it did not"),
    Column("idle_share", pl.Float64, "", "of the energy, what the idle device would have taken; null likewise"),
    Column("image_j", pl.Float64, "J", "energy an image"),
    Column("image_low_j", pl.Float64, "J", "lower bound: samples do not fall on the edges of the stretch, power is averaged"),
    Column("image_high_j", pl.Float64, "J", "upper bound"),
    Column("epoch_wh", pl.Float64, "Wh", "energy of an epoch of the asked size: extrapolated"),
    Column("epoch_low_wh", pl.Float64, "Wh", "lower bound"),
    Column("epoch_high_wh", pl.Float64, "Wh", "upper bound"),
)
#: power sensors of recent cards look at a part of the time only: an integral may be off by this share (arXiv 2312.02741)
POWER_ERROR = 0.1
#: a card that computes less than this is idle
IDLE_PERCENT = 1.0
MIN_READINGS = 2


def energy(cells: Sequence[Measured], images_per_epoch: int) -> pl.DataFrame:
    """One row per cell and part whose energy or temperature is known; unknown is null."""
    rows = [row for cell in cells for row in _rows(cell, images_per_epoch)]
    idle = {row["part"]: row["mean_w"] for row in rows if row["is_idle"] and row["mean_w"]}
    for row in rows:
        row["idle_w"] = idle.get(row["part"])
        if row["idle_w"] and row["mean_w"]:
            row["idle_share"] = min(row["idle_w"] / row["mean_w"], 1.0)
    return frame(rows, COLUMNS)


def _rows(cell: Measured, images_per_epoch: int) -> Iterator[dict[str, Any]]:
    if cell.telemetry is None:
        return
    steps = stretch(cell.step_log)
    samples = within(cell.telemetry, steps)
    texts = cell.telemetry.with_columns(pl.col("source", "metric", "device_uuid").cast(pl.String)).drop_nulls("value")
    stretches = _with_images(steps, cell.batch_size)
    parts: list[tuple[str | None, str]] = [(None, "CPU"), *card_names(cell.telemetry).items()]
    for uuid, part in parts:
        mine = pl.col("device_uuid").eq_missing(pl.lit(uuid, dtype=pl.String))
        kind = pl.col("source") == "nvml" if uuid else pl.col("source").is_in(["rapl", "psutil"])
        heat = pl.col("metric") == ("temperature_c" if uuid else "cpu_temperature_c")
        busy = samples.filter(mine, kind, pl.col("metric") == "utilisation_percent")["value"]
        highest_c = number_or_none(samples.filter(mine, kind, heat)["value"].max())
        spent = _spent(texts.filter(mine, kind & (pl.col("source") != "psutil")), stretches, images_per_epoch)
        if spent or highest_c is not None:
            is_idle = cell.device == "cpu" and uuid is not None and not busy.is_empty() and busy.max() < IDLE_PERCENT  # type: ignore[operator]
            limit_w = cell.power_limits_w.get(uuid or "")
            yield {
                **named(cell),
                "part": part,
                "mean_w": None,
                **spent,
                "highest_c": highest_c,
                "limit_w": limit_w,
                "is_idle": is_idle,
            }


def _with_images(steps: pl.DataFrame, batch_size: int) -> list[tuple[float, float, int]]:
    """Start and end in seconds of each stretch, and the images in it."""
    inside = pl.col("start_ns").is_between
    samples = pl.col("samples").fill_null(batch_size)
    return [
        (start / 1e9, end / 1e9, int(steps.filter(inside(start, end, closed="left")).select(samples.sum()).item()))
        for start, end in spans(steps)
    ]


def _spent(readings: pl.DataFrame, stretches: list[tuple[float, float, int]], images_per_epoch: int) -> dict[str, Any]:
    """Energy over the stretches that samples cover, by the counter, else by power samples; nothing without any."""
    for source, metric in (("counter", "energy_j"), ("power", "power_w")):
        chosen = readings.filter(pl.col("metric") == metric).unique("time_ns").sort("time_ns")
        if chosen.height < MIN_READINGS:
            continue
        time_s, value = chosen["time_ns"].to_numpy() / 1e9, chosen["value"].to_numpy()
        covered = [(start, end) for start, end, _ in stretches if time_s[0] <= start and end <= time_s[-1]]
        images = sum(images for start, end, images in stretches if (start, end) in covered)
        if not images:
            continue
        if source == "power":
            value = np.concatenate([[0.0], np.cumsum((value[1:] + value[:-1]) / 2 * np.diff(time_s))])
        joules = sum(float(np.diff(np.interp(edges, time_s, value))[0]) for edges in covered)
        off = sum(_edge_j(time_s, value, at) for edges in covered for at in edges)
        off += POWER_ERROR * joules if source == "power" else 0.0
        seconds = sum(end - start for start, end in covered)
        low, high = max(joules - off, 0.0), joules + off
        named_bounds = {"": joules, "_low": low, "_high": high}
        return {
            "source": source,
            "mean_w": joules / seconds,
            **{f"image{end}_j": amount / images for end, amount in named_bounds.items()},
            **{f"epoch{end}_wh": amount / images * images_per_epoch / 3600 for end, amount in named_bounds.items()},
        }
    return {}


def _edge_j(time_s: Floats, value: Floats, at_s: float) -> float:
    """How far an interpolated counter may be off: all that was counted between the neighbouring samples, at most half of it."""
    right = int(np.clip(np.searchsorted(time_s, at_s), 1, time_s.size - 1))
    return float(abs(value[right] - value[right - 1])) / 2
