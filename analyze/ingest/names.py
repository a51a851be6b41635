"""Which event names are missing or corrupt?"""

from __future__ import annotations

import polars as pl

UNNAMED = "<unnamed>"
#: names read from freed memory differ every time; under one name they stay one row in every table
CORRUPT = "<corrupt name>"
#: control characters other than tab and line breaks, which source text in a name may hold
CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"


def readable(name: pl.Series) -> tuple[pl.Series, int]:
    """The Categorical names with placeholders for missing and corrupt ones, and how many were corrupt."""
    text = pl.col("name").cast(pl.String)
    missing = text.is_null() | (text == "")
    replaced = (
        name.unique()
        .to_frame("name")
        .with_columns(shown=pl.when(missing).then(pl.lit(UNNAMED)).when(text.str.contains(CONTROL)).then(pl.lit(CORRUPT)))
        .drop_nulls("shown")
    )
    if replaced.is_empty():
        return name, 0
    joined = name.to_frame("name").join(replaced, on="name", how="left", nulls_equal=True, maintain_order="left")
    shown = joined.select(pl.coalesce("shown", text).cast(pl.Categorical).alias("name"))
    return shown.to_series(), int((joined["shown"] == CORRUPT).sum())
