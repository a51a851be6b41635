"""What does work in pieces cost beside the work: the operator that makes the pieces, the one that joins them, freeing them?

A loop over pieces that becomes one operator on the whole needs none of it. Pieces are freed where Python drops the list that
was joined: after the joining operator, before the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.intervals import merge

if TYPE_CHECKING:
    from analyze.intervals import Spans

#: operators that cut a tensor into a list of pieces, and that put pieces together
SPLITTING = (
    "aten::unbind",
    "aten::split",
    "aten::split_with_sizes",
    "aten::chunk",
    "aten::tensor_split",
    "aten::unsafe_split",
    "aten::unsafe_chunk",
)
JOINING = ("aten::cat", "aten::stack", "aten::vstack", "aten::hstack", "aten::dstack")
LANE = ["process", "thread"]


def splits_and_joins(loops: pl.DataFrame, cpu_ops: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Top-level operators of cpu_ops that cut just before each loop, and that join just after it, on its thread.

    loops: process, thread, start_ns, dur_ns.
    """
    top = cpu_ops.filter(pl.col("depth") == 0).sort("start_ns")
    spans = loops.select(*LANE, before_ns=pl.col("start_ns") - 1, after_ns=pl.col("start_ns") + pl.col("dur_ns"))
    named = top.select(*LANE, "start_ns", "dur_ns", name=pl.col("name").cast(pl.String))
    before = spans.sort("before_ns").join_asof(
        named, left_on="before_ns", right_on="start_ns", by=LANE, strategy="backward", coalesce=False, check_sortedness=False
    )
    after = spans.sort("after_ns").join_asof(
        named, left_on="after_ns", right_on="start_ns", by=LANE, strategy="forward", coalesce=False, check_sortedness=False
    )
    columns = [*LANE, "start_ns", "dur_ns"]
    return (
        before.filter(pl.col("name").is_in(SPLITTING)).select(columns),
        after.filter(pl.col("name").is_in(JOINING)).select(columns),
    )


def freeing(joins: pl.DataFrame, cpu_ops: pl.DataFrame | None, making_ns: float) -> Spans:
    """Spans from the end of each joining operator to the thread's next one in the step, less the usual time between two.

    joins: start_ns and dur_ns of top-level operators. making_ns: what making the pieces took, one operator each; to free them
    takes no longer, so what is longer than that is something else and stays altogether.
    """
    if cpu_ops is None or joins.is_empty():
        return merge([], [])
    end = pl.col("start_ns") + pl.col("dur_ns")
    following = pl.col("start_ns").shift(-1).over(*LANE, "step")
    top = (
        cpu_ops.filter(pl.col("depth") == 0, pl.col("step").is_not_null())
        .sort("start_ns")
        .with_columns(end_ns=end, between_ns=following - end)
        .with_columns(usual_ns=pl.col("between_ns").median().over(*LANE))
    )
    mine = top.join(joins.select("start_ns", "dur_ns"), on=["start_ns", "dur_ns"], how="semi").drop_nulls("between_ns")
    over = (pl.col("between_ns") - pl.col("usual_ns")).cast(pl.Int64)
    longer = mine.filter(over <= making_ns).select("end_ns", until=pl.col("end_ns") + over)
    return merge(longer["end_ns"].to_numpy(), longer["until"].to_numpy())


def longer_than_peers(loops: pl.DataFrame, cpu_ops: pl.DataFrame) -> Spans:
    """Of the first operator after each loop and its join: the time by which it is longer than all others of its name in the step.

    Nothing where the step has no other of that name.
    """
    named = cpu_ops.filter(pl.col("depth") == 0, pl.col("step").is_not_null()).sort("start_ns")
    top = named.with_columns(pl.col("name").cast(pl.String), end_ns=pl.col("start_ns") + pl.col("dur_ns"))
    ends = loops.select(*LANE, "step", after_ns=pl.col("start_ns") + pl.col("dur_ns")).sort("after_ns")
    others = top.filter(~pl.col("name").is_in(JOINING))
    first = ends.join_asof(
        others.select(*LANE, "step", "id", "name", "start_ns", "dur_ns", "end_ns"),
        left_on="after_ns", right_on="start_ns", by=[*LANE, "step"], strategy="forward", coalesce=False, check_sortedness=False,
    ).drop_nulls("id")  # fmt: skip
    peers = top.select(*LANE, "step", "name", peer="id", peer_ns="dur_ns")
    slowest = (
        first.unique("id").join(peers, on=[*LANE, "step", "name"])
        .filter(pl.col("peer") != pl.col("id"))
        .group_by("id").agg(pl.col("end_ns").first(), pl.col("start_ns").first() + pl.col("peer_ns").max())
    )  # fmt: skip
    return merge(slowest["start_ns"].to_numpy(), slowest["end_ns"].to_numpy())
