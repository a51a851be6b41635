"""How do utilisation, power, temperature and memory go over the time of each cell?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.schema import Column, empty
from analyze.study.stretch import card_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    Column("cell", pl.String, "", "folder of the run"),
    Column("part", pl.String, "", "CPU, GPU 0, GPU 1 …"),
    Column("metric", pl.String, "", "what was sampled, the unit in its name"),
    Column("seconds", pl.Float64, "s", "since the cell's first step"),
    Column("value", pl.Float64, "by metric", "mean of the samples of a short while"),
)
METRICS = {
    "nvml": ("utilisation_percent", "power_w", "temperature_c", "memory_used_bytes"),
    "psutil": ("cpu_percent", "cpu_temperature_c", "memory_used_bytes"),
    "rapl": ("power_w",),
}
#: points of one line; more cannot be told apart
POINTS = 200


def over_time(cells: Sequence[Measured]) -> pl.DataFrame:
    """Samples of all cells on clocks that begin with their first steps."""
    names = [column.name for column in COLUMNS]
    return pl.concat([empty(COLUMNS), *(_of(cell).select(names) for cell in cells if cell.telemetry is not None)])


def _of(cell: Measured) -> pl.DataFrame:
    first_ns, last_ns = cell.step_log["start_ns"].min(), (cell.step_log["start_ns"] + cell.step_log["dur_ns"]).max()
    telemetry = cell.telemetry
    if telemetry is None or first_ns is None or last_ns is None:
        return empty(COLUMNS)
    wanted = [(pl.col("source") == source) & pl.col("metric").is_in(metrics) for source, metrics in METRICS.items()]
    samples = (
        telemetry.with_columns(pl.col("source", "metric", "device_uuid").cast(pl.String))
        .filter(pl.any_horizontal(wanted), pl.col("time_ns").is_between(first_ns, last_ns))
        .drop_nulls("value")
        .with_columns(
            cell=pl.lit(cell.name),
            part=pl.col("device_uuid").replace_strict(card_names(telemetry), default="CPU", return_dtype=pl.String),
            seconds=(pl.col("time_ns") - first_ns) / 1e9,
        )
    )
    by = ["cell", "part", "metric"]
    return (
        samples.sort("time_ns")
        .with_columns(bucket=pl.int_range(pl.len()).over(by) // (pl.len().over(by) // POINTS + 1))
        .group_by(*by, "bucket", maintain_order=True)
        .agg(pl.col("seconds", "value").mean())
    )
