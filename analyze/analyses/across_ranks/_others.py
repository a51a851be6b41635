"""What do the other ranks have, leaving one out?"""

from __future__ import annotations

import polars as pl


def others_median(column: str, within: str = "step") -> pl.Expr:
    """Median of a column over the other ranks of the same step.

    With the step's values sorted, leaving one out moves the middle to the values beside it.
    """
    count, place = pl.len().over(within), pl.col(column).rank("ordinal").over(within).cast(pl.Int64) - 1
    ordered = pl.col(column).sort().over(within, mapping_strategy="join")

    def beside(index: pl.Expr) -> pl.Expr:
        return ordered.list.get(pl.when(index >= place).then(index + 1).otherwise(index).clip(0, count - 1))

    left = count - 1
    lower, upper = (left - 1) // 2, left // 2
    return (beside(lower) + beside(upper)) / 2
