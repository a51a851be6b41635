"""How long does an answer take, for a batch and for a single image?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.schema import Column
from analyze.study.stretch import stretch
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("batches", pl.Int64, "", "measured batches"),
    Column("batch_p50_ms", pl.Float64, "ms", "from a batch in host memory to its classes there: half of the batches are faster"),
    Column("batch_p99_ms", pl.Float64, "ms", "99 of 100 are faster; of fewer batches this is close to the slowest"),
    Column("image_p50_ms", pl.Float64, "ms", "the median by the images of the batch"),
    Column("single_images", pl.Int64, "", "images classified one by one; null where that was not measured"),
    Column("single_image_p50_ms", pl.Float64, "ms", "from one decoded image in host memory to its class"),
    Column("single_image_p99_ms", pl.Float64, "ms", "likewise"),
    Column("images_per_s", pl.Float64, "1/s", "images by time, loading included"),
    Column("input_wait_share", pl.Float64, "", "share of that time spent waiting for the next batch; null where not measured"),
)


def inference(cells: Sequence[Measured], throughput: pl.DataFrame) -> pl.DataFrame:
    """One row per cell of inference."""
    rows = (row for row in (_row(cell) for cell in cells if cell.mode == "infer") if row is not None)
    rates = throughput.select("cell", "images_per_s", "input_wait_share")
    return frame(rows, COLUMNS).drop("images_per_s", "input_wait_share").join(rates, on="cell", how="left")


def _row(cell: Measured) -> dict[str, Any] | None:
    steps = stretch(cell.step_log)
    if steps.is_empty():
        return None
    latency_ms = (steps["dur_ns"] - steps["input_wait_ns"].fill_null(0)).to_numpy() / 1e6
    p50, p99 = (float(value) for value in np.quantile(latency_ms, [0.5, 0.99]))
    row = {
        **named(cell),
        "batches": steps.height,
        "batch_p50_ms": p50,
        "batch_p99_ms": p99,
        "image_p50_ms": p50 / cell.batch_size,
    }
    single = (cell.manifest.get("results") or {}).get("single_image_ns")
    if single:
        row["single_images"] = len(single)
        row["single_image_p50_ms"], row["single_image_p99_ms"] = (float(v) / 1e6 for v in np.quantile(single, [0.5, 0.99]))
    return row
