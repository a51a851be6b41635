"""The columns that name a cell in every table, and frames out of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from analyze.study.model import Measured

CELL = (
    Column("cell", pl.String, "", "folder of the run"),
    Column("mode", pl.String, "", "train or infer"),
    Column("device", pl.String, "", "cpu or cuda"),
    Column("batch_size", pl.Int64, "", "images per step"),
)


def named(cell: Measured) -> dict[str, Any]:
    """Return what names a cell."""
    return {"cell": cell.name, "mode": cell.mode, "device": cell.device, "batch_size": cell.batch_size}


def frame(rows: Iterable[Mapping[str, Any]], columns: tuple[Column, ...]) -> pl.DataFrame:
    """Return the rows with exactly these columns; what a row lacks is null."""
    schema = {column.name: column.dtype for column in columns}
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
