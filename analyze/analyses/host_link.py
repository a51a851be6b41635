"""How fast can data move between host and device: nominal rate of the link, from the device's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.hardware import find
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("device", pl.String, "", "device name"),
    Column("bytes_per_s", pl.Float64, "bytes/s", "nominal rate in one direction; null where the device is not known"),
    Column("source", pl.String, "", "where the figure is from"),
)


def host_link(trace_info: TraceInfo) -> pl.DataFrame:
    """One row, for the first device of the trace."""
    name = trace_info.devices[0].name if trace_info.devices else None
    known = find(name)
    return pl.DataFrame(
        {
            "device": [name],
            "bytes_per_s": [known.host_link_bytes_per_s if known else None],
            "source": [known.source if known else None],
        },
        schema={column.name: column.dtype for column in COLUMNS},
    )
