"""How much of the communication is hidden behind computation?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import by_device, device_work, windows
from analyze.errors import MissingData
from analyze.intervals import covered_per_window, intersect, of_frame
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("step", pl.Int64, "", "step; null for the whole recording"),
    Column("communication_ns", pl.Int64, "ns", "a collective runs; waiting for peers is included"),
    Column("compute_ns", pl.Int64, "ns", "a kernel other than a collective runs"),
    Column("overlap_ns", pl.Int64, "ns", "both at once"),
    Column("overlap_fraction", pl.Float64, "", "share of the communication that is hidden; null without communication"),
)


def communication_overlap(kernels: pl.DataFrame, step_time: pl.DataFrame | None = None) -> pl.DataFrame:
    """Per device: every profiled step by when work ran, then the whole recording."""
    collective = pl.col("kind") == "collective"
    if not kernels.select((pl.col("kind").cast(pl.String) == "collective").any()).item():
        raise MissingData("no collective ran on a device")
    frames = []
    for device, mine in by_device(device_work(kernels)):
        communication, compute = of_frame(mine.filter(collective)), of_frame(mine.filter(~collective))
        parts = {
            "communication_ns": communication,
            "compute_ns": compute,
            "overlap_ns": intersect(communication, compute),
        }
        seen = windows(mine, step_time)
        start, end = seen["start_ns"].to_numpy(), seen["end_ns"].to_numpy()
        covered = {name: pl.Series(covered_per_window(spans, start, end)) for name, spans in parts.items()}
        frames.append(seen.with_columns(**covered, device=pl.lit(device, dtype=pl.Int64)))
    hidden = pl.when(pl.col("communication_ns") > 0).then(pl.col("overlap_ns") / pl.col("communication_ns"))
    return pl.concat(frames).with_columns(overlap_fraction=hidden).select(column.name for column in COLUMNS)
