"""Which lane does an event lie on, for writers whose lanes say what their events are?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.ingest.assemble import conform

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analyze.ingest.event import Event

import msgspec


class Named(msgspec.Struct):
    """Arguments of a lane's name."""

    name: str = ""


def process_names(events: Sequence[Event]) -> set[str]:
    """Names of the processes among a file's first events."""
    found = set()
    for event in events:
        if event.ph == "M" and event.name == "process_name":
            try:
                found.add(msgspec.json.decode(event.args, type=Named).name)
            except msgspec.DecodeError:
                continue
    return found


def with_lanes(frame: pl.LazyFrame, lanes: pl.LazyFrame) -> pl.LazyFrame:
    """The frame with `process_name` and `thread_name`; '' where a lane has no name."""
    processes = lanes.filter(pl.col("thread").is_null()).select("process", process_name="name")
    threads = lanes.filter(pl.col("thread").is_not_null()).select("process", "thread", thread_name="name")
    return (
        frame.join(processes, on="process", how="left", maintain_order="left")
        .join(threads, on=["process", "thread"], how="left", maintain_order="left")
        .with_columns(pl.col("process_name", "thread_name").fill_null(""))
    )


def divided(
    frames: Mapping[str, pl.LazyFrame], source: str, rules: Mapping[str, pl.Expr], changes: Mapping[str, list[pl.Expr]]
) -> dict[str, pl.LazyFrame]:
    """Events of one family moved to the first family whose rule over the lanes' names holds; the rest is `other_events`.

    `changes` completes the columns of a family from the lanes' names.
    """
    target = pl.lit("other_events")
    for family, rule in reversed(list(rules.items())):
        target = pl.when(rule).then(pl.lit(family)).otherwise(target)
    placed = with_lanes(frames[source], frames["lanes"]).with_columns(target=target).collect()
    result = {}
    for family in (*rules, "other_events"):
        moved = placed.filter(pl.col("target") == family).with_columns(changes.get(family, []))
        if family == "other_events":
            moved = moved.with_columns(phase=pl.lit("X", dtype=pl.Categorical))
        parts = [conform(moved, family)]
        if family != source:
            parts.append(frames[family].collect())
        result[family] = pl.concat(parts).sort("id").lazy()
    return result
