"""How long would so many epochs of so many images take? Extrapolated from the measured stretch."""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("cell", pl.String, "", "folder of the run"),
    Column("device", pl.String, "", "cpu or cuda"),
    Column("batch_size", pl.Int64, "", "images per step"),
    Column("epochs", pl.Int64, "", "epochs asked for"),
    Column("images_per_epoch", pl.Int64, "", "images asked for"),
    Column("stretch_s", pl.Float64, "s", "what was measured"),
    Column("stretch_images", pl.Int64, "", "images in it"),
    Column("hours", pl.Float64, "h", "extrapolated: steps alone, without evaluation or checkpoints"),
    Column("hours_low", pl.Float64, "h", "lower end of the interval, of the stretch's own spread"),
    Column("hours_high", pl.Float64, "h", "upper end of it"),
    Column("extrapolated", pl.Boolean, "", "true: nobody trained for so long"),
)


def training_time(throughput: pl.DataFrame, epochs: int, images_per_epoch: int) -> pl.DataFrame:
    """One row per training cell."""

    def hours(rate: str) -> pl.Expr:
        return pl.lit(epochs * images_per_epoch / 3600) / pl.col(rate)

    return (
        throughput.filter(pl.col("mode") == "train")
        .with_columns(
            epochs=pl.lit(epochs, dtype=pl.Int64),
            images_per_epoch=pl.lit(images_per_epoch, dtype=pl.Int64),
            stretch_images=pl.col("images"),
            hours=hours("images_per_s"),
            hours_low=hours("images_per_s_high"),
            hours_high=hours("images_per_s_low"),
            extrapolated=pl.lit(value=True),
        )
        .select(column.name for column in COLUMNS)
    )
