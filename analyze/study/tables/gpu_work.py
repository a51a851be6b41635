"""Where there are several GPUs: does each do its share of the work?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column
from analyze.study.tables._cells import CELL

COLUMNS = (
    *CELL,
    Column("part", pl.String, "", "GPU 0, GPU 1 …"),
    Column("mean_percent", pl.Float64, "%", "mean utilisation; null where not sampled"),
    Column("mean_w", pl.Float64, "W", "mean power; null where not sampled"),
    Column("share_of_busiest", pl.Float64, "", "utilisation as a fraction of the busiest GPU's"),
)


def gpu_work(utilisation: pl.DataFrame, energy: pl.DataFrame) -> pl.DataFrame:
    """One row per GPU of cells that ran on GPUs and could see more than one."""
    power = energy.select("cell", "part", "mean_w")
    most = pl.col("mean_percent").max().over("cell")
    return (
        utilisation.filter(pl.col("part").str.starts_with("GPU"), pl.col("device") != "cpu")
        .filter(pl.len().over("cell") > 1)
        .join(power, on=["cell", "part"], how="left")
        .with_columns(share_of_busiest=pl.when(most > 0).then(pl.col("mean_percent") / most))
        .select(column.name for column in COLUMNS)
    )
