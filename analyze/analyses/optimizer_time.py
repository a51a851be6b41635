"""What does the optimizer cost per step, and in how many kernels?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._launched_within import launched_within
from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.String, "", "optimizer's class: AdamW, SGD …"),
    Column("part", pl.String, "", "step or zero_grad"),
    Column("calls", pl.Int64, "", "calls within steps"),
    Column("steps", pl.Int64, "", "steps with a call"),
    Column("host_ns", pl.Float64, "ns", "mean per call on the host"),
    Column("device_ns", pl.Float64, "ns", "mean device work launched per call; null without a device"),
    Column("kernels", pl.Float64, "", "mean device work items launched per call; null without a device"),
)

CALL = r"^Optimizer\.(step|zero_grad)#(\w+)"


def optimizer_time(
    annotations: pl.DataFrame,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Calls of every optimizer's step and zero_grad, outside steps only where the recording has none inside."""
    name = pl.col("name").cast(pl.String)
    calls = annotations.filter(~pl.col("on_device"), name.str.contains(CALL)).with_columns(
        part=name.str.extract(CALL, 1), optimizer=name.str.extract(CALL, 2)
    )
    if calls.is_empty():
        raise MissingData("the trace does not label the optimizer's calls (torch 1.12 and later do)")
    inside = calls.drop_nulls("step")
    counted = calls if inside.is_empty() else inside
    if launches is None or kernels is None:
        unknown = pl.lit(None, dtype=pl.Int64)
        measured = counted.with_columns(device_ns=unknown, work_count=unknown)
    else:
        measured = launched_within(counted, launches, device_work(kernels, copies), lane=("process",))
    return (
        measured.group_by("part", name="optimizer")
        .agg(
            pl.col("device_ns").mean(),
            calls=pl.len().cast(pl.Int64),
            steps=pl.col("step").drop_nulls().n_unique().cast(pl.Int64),
            host_ns=pl.col("dur_ns").mean(),
            kernels=pl.col("work_count").mean(),
        )
        .sort("host_ns", descending=True)
        .select(column.name for column in COLUMNS)
    )
