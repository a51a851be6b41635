"""What does the next larger batch give: in throughput, memory, utilisation, energy?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("mode", pl.String, "", "train or infer"),
    Column("device", pl.String, "", "cpu or cuda"),
    Column("from_batch", pl.Int64, "", "batch size before"),
    Column("to_batch", pl.Int64, "", "the next larger one"),
    Column("throughput_change", pl.Float64, "", "images a second, as a fraction of those before"),
    Column("throughput_change_low", pl.Float64, "", "lower end; null with too few steps"),
    Column("throughput_change_high", pl.Float64, "", "upper end"),
    Column("step_ms_change", pl.Float64, "", "step time likewise"),
    Column("device_memory_change", pl.Float64, "", "most memory that torch allocated on the device likewise; null without one"),
    Column("host_memory_change", pl.Float64, "", "most memory of the training process likewise; null where not sampled"),
    Column("utilisation_from_percent", pl.Float64, "%", "of the busiest part of that kind, before; null where not sampled"),
    Column("utilisation_to_percent", pl.Float64, "%", "and after"),
    Column("input_wait_from_share", pl.Float64, "", "share of the time spent waiting for input, before; null where not measured"),
    Column("input_wait_to_share", pl.Float64, "", "and after"),
    Column("image_energy_change", pl.Float64, "", "energy an image likewise; null where it is not known"),
    Column("image_energy_change_low", pl.Float64, "", "lower bound"),
    Column("image_energy_change_high", pl.Float64, "", "upper bound"),
)
BY = ("mode", "device")
ENERGY = ("image_j", "image_low_j", "image_high_j")


def batch_effect(throughput: pl.DataFrame, memory: pl.DataFrame, utilisation: pl.DataFrame, energy: pl.DataFrame) -> pl.DataFrame:
    """One row per mode, device and pair of neighbouring batch sizes."""
    own = pl.when(pl.col("device") == "cpu").then(pl.lit("CPU")).otherwise(pl.lit("GPU"))
    mine = pl.col("part").str.starts_with(own)
    busiest = utilisation.filter(mine).group_by("cell").agg(utilisation=pl.col("mean_percent").max())
    spent = (
        energy.filter(mine)
        .group_by("cell")
        .agg(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name) for name in ENERGY)
    )
    wide = (
        throughput.join(memory.select("cell", "device_allocated_bytes", "process_bytes"), on="cell", how="left")
        .join(busiest, on="cell", how="left")
        .join(spent, on="cell", how="left")
        .sort(*BY, "batch_size")
    )

    def before(name: str) -> pl.Expr:
        return pl.col(name).shift(1).over(BY)

    def change(name: str, of: str | None = None) -> pl.Expr:
        return pl.col(name) / before(of or name) - 1

    return (
        wide.with_columns(
            from_batch=before("batch_size"),
            to_batch=pl.col("batch_size"),
            throughput_change=change("images_per_s"),
            # the ends of both intervals against each other: wider than need be, never narrower
            throughput_change_low=change("images_per_s_low", of="images_per_s_high"),
            throughput_change_high=change("images_per_s_high", of="images_per_s_low"),
            step_ms_change=change("step_ms"),
            device_memory_change=change("device_allocated_bytes"),
            host_memory_change=change("process_bytes"),
            utilisation_from_percent=before("utilisation"),
            utilisation_to_percent=pl.col("utilisation"),
            input_wait_from_share=before("input_wait_share"),
            input_wait_to_share=pl.col("input_wait_share"),
            image_energy_change=change("image_j"),
            image_energy_change_low=change("image_low_j", of="image_high_j"),
            image_energy_change_high=change("image_high_j", of="image_low_j"),
        )
        .drop_nulls("from_batch")
        .select(column.name for column in COLUMNS)
    )
