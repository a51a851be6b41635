"""Which event of the explaining window is the same call as one of the timed window? Matched by order within the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

MARKER = r"^ProfilerStep#\d+$"
KEY = ["thread", "name", "turn"]


def match_operators(own: pl.DataFrame, explained: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Columns id, explained_id: the nth call of a name on a thread within a step is the nth of the explained step.

    own has id, name, thread, start_ns, step; operators without a counterpart are left out. Both windows are of one
    process, so thread lanes mean the same.
    """
    columns = ["id", "name", "thread", "start_ns"]
    theirs = explained["op_events"].drop_nulls("dur_ns").select(columns).sort("start_ns").collect()
    markers = (
        explained["annotation_events"]
        .filter(pl.col("name").cast(pl.String).str.contains(MARKER), ~pl.col("on_device").fill_null(value=False))
        .select("start_ns", step=pl.col("start_ns"))
        .sort("start_ns")
        .collect()
    )
    stepped = theirs.join_asof(markers, on="start_ns", strategy="backward").drop_nulls("step")
    # the first step of a window may hold one-off work; the last one is settled
    settled = stepped.filter(pl.col("step") == pl.col("step").max())
    known = _numbered(settled, []).select(*KEY, explained_id="id")
    wanted = _numbered(own.filter(pl.col("step").is_not_null()).sort("start_ns"), ["step"])
    return wanted.join(known, on=KEY, how="inner").select("id", "explained_id")


def _numbered(operators: pl.DataFrame, within: list[str]) -> pl.DataFrame:
    """Add `turn`: how many of that name ran before on the thread, within the step."""
    return operators.with_columns(turn=pl.int_range(pl.len()).over([*within, "thread", "name"]))
