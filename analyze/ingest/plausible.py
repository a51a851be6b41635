"""Which event times cannot be true, so that they must not enter a sum?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from analyze.ingest.compiled.events import ScannedEvents
    from analyze.ingest.decoded import DecodedEvents

#: no profile spans a day, and none of its events lasts one
DAY_NS = 86_400 * 10**9
#: what Kineto writes for a span that had not ended
UNFINISHED_NS = -1000
UNFINISHED = "unfinished"


def cause(reference_ns: int | None) -> pl.Expr:
    """Why an event's times are not believed; null where they are."""
    start, duration, phase = pl.col("start_ns"), pl.col("dur_ns"), pl.col("phase").cast(pl.String)
    rules: Any = pl.when(start.is_null()).then(pl.lit("missing-timestamp"))
    if reference_ns is not None and reference_ns > DAY_NS:
        rules = rules.when(start <= 0).then(pl.lit("zero-timestamp"))
    if reference_ns is not None:
        rules = rules.when((start < reference_ns - DAY_NS) | (start > reference_ns + DAY_NS)).then(
            pl.lit("implausible-timestamp")
        )
    found: pl.Expr = (
        rules.when((duration == UNFINISHED_NS) & (phase == "X"))
        .then(pl.lit(UNFINISHED))
        .when(duration < 0)
        .then(pl.lit("negative-duration"))
        .when(duration > DAY_NS)
        .then(pl.lit("implausible-duration"))
        .otherwise(pl.lit(None, dtype=pl.String))
        .alias("cause")
    )
    return found


def reference_time(events: DecodedEvents | ScannedEvents) -> int | None:
    """Median start of the first chunk's spans, against which others are judged; None without spans."""
    starts = events.starts(("X", "B"))
    positive = starts.filter(starts > 0).sort()
    return int(positive[len(positive) // 2]) if len(positive) else None
