"""What did each cell come to: loss after equal steps, and how many held-out images it tells apart?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.scalars import number_or_none
from analyze.schema import Column
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("after_steps", pl.Int64, "", "training steps before the comparison; null for inference"),
    Column("loss", pl.Float64, "", "mean training loss of the last steps before it; null where not logged"),
    Column("held_out_images", pl.Int64, "", "images that were not trained on; null where none were looked at"),
    Column("held_out_loss", pl.Float64, "", "mean loss over them"),
    Column("accuracy", pl.Float64, "", "share of them told apart; null for a model that was not trained"),
    Column("accuracy_low", pl.Float64, "", "lower end of the interval (Wilson, 95 of 100 cases)"),
    Column("accuracy_high", pl.Float64, "", "upper end of it"),
)
#: steps whose loss is averaged: a single one depends on its batch
LAST_STEPS = 8
NORMAL_95 = 1.96


def results(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per cell that kept results."""
    return frame((_row(cell) for cell in cells if cell.manifest.get("results")), COLUMNS)


def _row(cell: Measured) -> dict[str, Any]:
    kept = cell.manifest["results"]
    images, correct = kept.get("held_out_images"), kept.get("held_out_correct")
    row = {**named(cell), "held_out_images": images, "held_out_loss": kept.get("held_out_loss")}
    row["after_steps"] = kept.get("after_steps")
    if row["after_steps"]:
        row["loss"] = last_loss(cell.step_log, row["after_steps"])
    if images:
        row["accuracy"] = correct / images
        row["accuracy_low"], row["accuracy_high"] = wilson(correct, images)
    return row


def last_loss(step_log: pl.DataFrame, after_steps: int) -> float | None:
    """Return the mean loss of the last steps before the comparison."""
    chosen = step_log.filter(pl.col("step").is_between(after_steps - LAST_STEPS, after_steps - 1))
    return number_or_none(chosen["loss"].mean())


def wilson(correct: int, images: int) -> tuple[float, float]:
    """Return the interval of a share of so many."""
    z2, share = NORMAL_95**2, correct / images
    middle = (share + z2 / (2 * images)) / (1 + z2 / images)
    half = NORMAL_95 / (1 + z2 / images) * (share * (1 - share) / images + z2 / (4 * images**2)) ** 0.5
    return max(middle - half, 0.0), min(middle + half, 1.0)
