"""How do begin and end events become spans? Every end closes the innermost open begin of its thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.ingest.quality import QualityLog

THREAD = ("process", "thread")


def paired(frames: Mapping[str, pl.LazyFrame], quality: QualityLog) -> dict[str, pl.LazyFrame]:
    """`other_events` with each B and E pair as one X; a begin without end keeps a null duration."""
    events = frames["other_events"]
    phase = pl.col("phase").cast(pl.String)
    marks = events.filter(phase.is_in(["B", "E"])).collect()
    if marks.is_empty():
        return {}
    opens = phase == "B"
    depth = pl.when(opens).then(1).otherwise(-1).cum_sum().over(THREAD)
    levels = marks.sort(*THREAD, "start_ns", "id").with_columns(level=depth + pl.when(opens).then(0).otherwise(1))
    following = pl.col("phase").cast(pl.String).shift(-1).over(*THREAD, "level")
    end_ns = pl.col("start_ns").shift(-1).over(*THREAD, "level")
    spans = levels.with_columns(dur_ns=pl.when(following == "E").then(end_ns - pl.col("start_ns"))).filter(opens)
    closed = int(spans["dur_ns"].is_not_null().sum())
    quality.add("unfinished", len(spans) - closed)
    quality.add("unpaired-event", len(marks) - len(spans) - closed)
    spans = spans.with_columns(phase=pl.lit("X", dtype=pl.Categorical)).drop("level")
    rest = events.filter(~phase.is_in(["B", "E"])).collect()
    return {"other_events": pl.concat([rest, spans]).sort("id").lazy()}
