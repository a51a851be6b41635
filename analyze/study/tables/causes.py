"""Where does a step go, and while nothing is computed, why?"""

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
    Column("part", pl.String, "", "of a GPU's step: compute, exposed_copy, idle_<cause> …; of a CPU's: input_wait, forward …"),
    Column("ms", pl.Float64, "ms", "mean per step"),
    Column("share", pl.Float64, "", "of the step"),
    Column("profiled_steps", pl.Int64, "", "steps that it is a mean of, recorded under the profiler; null where not known"),
)


def causes(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per cell and part of its step, largest first; cells without a trace have none."""
    rows = (
        {**named(cell), "part": part, "ms": ns / 1e6, "share": ns / total, "profiled_steps": cell.profiled_steps}
        for cell in cells
        if (total := sum(cell.parts_ns.values())) > 0
        for part, ns in sorted(cell.parts_ns.items(), key=lambda item: -item[1])
        if ns > 0
    )
    return frame(rows, COLUMNS)
