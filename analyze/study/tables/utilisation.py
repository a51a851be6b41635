"""How busy are the processors of host and devices while the measured steps run?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.schema import Column
from analyze.study.stretch import card_names, stretch, within
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("part", pl.String, "", "CPU (all cores of the host), GPU 0, GPU 1 …"),
    Column("mean_percent", pl.Float64, "%", "mean; of a GPU the share of time in which any kernel ran"),
    Column("p10_percent", pl.Float64, "%", "a tenth of the samples is lower"),
    Column("p90_percent", pl.Float64, "%", "a tenth of the samples is higher"),
    Column("idle_percent", pl.Float64, "%", "what the mean leaves to 100"),
    Column("samples", pl.Int64, "", "samples within the measured steps"),
)
#: fewer samples are an anecdote
MIN_SAMPLES = 3
METRICS = {"nvml": "utilisation_percent", "psutil": "cpu_percent"}


def utilisation(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per cell and part that was sampled often enough."""
    return frame((row for cell in cells for row in _rows(cell)), COLUMNS)


def _rows(cell: Measured) -> Iterator[dict[str, object]]:
    if cell.telemetry is None:
        return
    samples = within(cell.telemetry, stretch(cell.step_log))
    cards = card_names(cell.telemetry)
    for source, metric in METRICS.items():
        mine = samples.filter(pl.col("source") == source, pl.col("metric") == metric)
        summed = mine.group_by("device_uuid", maintain_order=True).agg(
            mean_percent=pl.col("value").mean(),
            p10_percent=pl.col("value").quantile(0.1, "linear"),
            p90_percent=pl.col("value").quantile(0.9, "linear"),
            samples=pl.len(),
        )
        for row in (
            summed.filter(pl.col("samples") >= MIN_SAMPLES).with_columns(idle_percent=100 - pl.col("mean_percent")).to_dicts()
        ):
            yield {**named(cell), **row, "part": "CPU" if source == "psutil" else cards[row["device_uuid"]]}
