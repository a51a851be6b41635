"""Which operators cost most in each cell, the copy to the GPU among them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.scalars import number, number_or_none
from analyze.schema import Column
from analyze.study.stretch import stretch
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("operator", pl.String, "", "operator, or 'copy to the GPU'"),
    Column("place", pl.Int64, "", "1 for the costliest operator; null for the copy, which operators above may contain"),
    Column("ms", pl.Float64, "ms", "on the cell's device, per profiled step, without the operators inside"),
    Column("share", pl.Float64, "", "of all operators' time on that device"),
    Column("step_share", pl.Float64, "", "of the mean measured step; null where none was measured"),
)
COPY = "copy to the GPU"
LISTED = 8


def operators(cells: Sequence[Measured]) -> pl.DataFrame:
    """The costliest operators per cell, then the copy to the GPU where there is one."""
    return frame((row for cell in cells for row in _rows(cell)), COLUMNS)


def _rows(cell: Measured) -> Iterator[dict[str, object]]:
    if cell.operators is None:
        return
    column = "host_self_ns" if cell.device == "cpu" else "device_self_ns"
    known = cell.operators.drop_nulls(column).filter(pl.col(column) > 0)
    total = number(known[column].sum())
    if total <= 0:
        return
    step_ns = number_or_none(stretch(cell.step_log)["dur_ns"].mean())

    def shares(ns: float) -> dict[str, float | None]:
        return {"ms": ns / 1e6, "share": ns / total, "step_share": ns / step_ns if step_ns else None}

    for place, (name, ns) in enumerate(known.top_k(LISTED, by=column).select("operator", column).rows(), 1):
        yield {**named(cell), "operator": name, "place": place, **shares(ns)}
    if cell.device != "cpu" and cell.copy_to_device_ns is not None:
        yield {**named(cell), "operator": COPY, **shares(cell.copy_to_device_ns)}
