"""Times of all ranks, on the clock of the lowest."""

from __future__ import annotations

import polars as pl


def on_one_clock(frame: pl.DataFrame, rank_clocks: pl.DataFrame) -> pl.DataFrame:
    """Start times on the lowest rank's clock."""
    drifted = (pl.col("drift_ppm") / 1e6 * (pl.col("start_ns") - pl.col("from_ns"))).round().cast(pl.Int64)
    clocked = frame.join(rank_clocks, on="rank", how="inner", maintain_order="left")
    return clocked.with_columns(start_ns=pl.col("start_ns") - pl.col("offset_ns") - drifted)
