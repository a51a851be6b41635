"""How long do the spans take that the user or a library labelled, on the host and on the device?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._launched_within import launched_within
from analyze.analyses._spread import spread, spread_columns
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.Categorical, "", "label"),
    Column("on_device", pl.Boolean, "", "the label's projection on the device; otherwise the host's span"),
    *spread_columns("spans"),
    Column("device_ns", pl.Int64, "ns", "summed device time of what the process launched meanwhile; null on the device"),
    Column("work_count", pl.Int64, "", "device work items launched meanwhile; null on the device"),
)


def annotation_breakdown(
    annotations: pl.DataFrame,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Labels by side, longest first. Nested spans each count in full, and so does what is launched inside both."""
    host = annotations.filter(~pl.col("on_device"))
    unknown = pl.lit(None, dtype=pl.Int64)
    if launches is None or kernels is None:
        measured = annotations.with_columns(device_ns=unknown, work_count=unknown)
    else:
        within = launched_within(host, launches, device_work(kernels, copies), lane=("process",))
        projected = annotations.filter("on_device").with_columns(device_ns=unknown, work_count=unknown)
        measured = pl.concat([within, projected])
    known = pl.col("device_ns").count() > 0
    return (
        measured.group_by("name", "on_device")
        .agg(
            *spread(),
            device_ns=pl.when(known).then(pl.col("device_ns").sum()),
            work_count=pl.when(known).then(pl.col("work_count").sum()),
        )
        .sort("on_device", "total_ns", "name", descending=[False, True, False])
        .select(column.name for column in COLUMNS)
    )
