"""How did the loss of each training go, over the steps that all cells trained for?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.schema import Column
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("step", pl.Int64, "", "training step, from 0"),
    Column("loss", pl.Float64, "", "training loss of its batch; steps whose loss was not logged have no row"),
)


def losses(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per training cell and logged loss before the comparison; faster devices train on after it."""
    rows = (
        {**named(cell), "step": step, "loss": loss}
        for cell in cells
        if cell.mode == "train"
        for step, loss in cell.step_log.filter(pl.col("step") < steps_before_comparison(cell))
        .drop_nulls("loss")
        .sort("step")
        .select("step", "loss")
        .rows()
    )
    return frame(rows, COLUMNS)


def steps_before_comparison(cell: Measured) -> int:
    """Return after how many steps accuracy was looked at; all steps where it was not."""
    steps = (cell.manifest.get("results") or {}).get("after_steps")
    return int(steps) if steps else cell.step_log.height
