"""Did training on two devices with the same data, seed and batch size come to the same?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.scalars import number_or_none
from analyze.schema import Column
from analyze.study.tables._cells import frame
from analyze.study.tables.losses import steps_before_comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.model import Measured

COLUMNS = (
    Column("batch_size", pl.Int64, "", "images per step"),
    Column("base", pl.String, "", "device that is compared with"),
    Column("device", pl.String, "", "device that is compared"),
    Column("steps", pl.Int64, "", "training steps before the comparison"),
    Column("steps_compared", pl.Int64, "", "those of them whose loss both logged: it is read when that holds nothing up"),
    Column(
        "first_loss_difference",
        pl.Float64,
        "",
        "at the first of them, as a fraction of base: data and weights are the same there",
    ),
    Column("loss_difference", pl.Float64, "", "mean over all of them, as a fraction of base's mean loss"),
    Column("accuracy_difference", pl.Float64, "", "share of held-out images told apart, device less base; null where not known"),
    Column("accuracy_noise", pl.Float64, "", "a difference up to this is within the noise of so few held-out images"),
)
BASE = "cpu"
NORMAL_95 = 1.96


def agreement(cells: Sequence[Measured], results: pl.DataFrame) -> pl.DataFrame:
    """One row per batch size that was trained with on the CPU and on another device."""
    trained = [cell for cell in cells if cell.mode == "train"]
    return frame(
        (
            _row(base, other, results)
            for base in trained
            for other in trained
            if base.device == BASE and other.device != BASE and base.batch_size == other.batch_size
        ),
        COLUMNS,
    )


def _row(base: Measured, other: Measured, results: pl.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {"batch_size": base.batch_size, "base": base.device, "device": other.device}
    limit = min(steps_before_comparison(cell) for cell in (base, other))
    logs = [cell.step_log.filter(pl.col("step") < limit).drop_nulls("loss").select("step", "loss") for cell in (base, other)]
    both = logs[0].join(logs[1], on="step", suffix="_other").sort("step")
    row["steps"], row["steps_compared"] = limit, both.height
    if not both.is_empty():
        off = (both["loss_other"] - both["loss"]).abs()
        mean = number_or_none(both["loss"].mean()) or 0.0
        first = both["loss"][0]
        row["first_loss_difference"] = off[0] / first if first else None
        row["loss_difference"] = (number_or_none(off.mean()) or 0.0) / mean if mean else None
    known, compared = _accuracy(results, base), _accuracy(results, other)
    if known is not None and compared is not None:
        (one, images), (two, more) = known, compared
        row["accuracy_difference"] = two - one
        # both models saw the same images, which only makes the true noise smaller
        row["accuracy_noise"] = NORMAL_95 * (one * (1 - one) / images + two * (1 - two) / more + 1 / (2 * images**2)) ** 0.5
    return row


def _accuracy(results: pl.DataFrame, cell: Measured) -> tuple[float, int] | None:
    found = results.filter(pl.col("cell") == cell.name).drop_nulls("accuracy").select("accuracy", "held_out_images").rows()
    return found[0] if found else None
