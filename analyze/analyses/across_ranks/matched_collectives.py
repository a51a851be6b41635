"""Which calls of the ranks are one and the same collective?

By process group, kind, step and order within the step; where ranks differ in how many they made, by size as well. Only steps
that all ranks recorded are compared.
"""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("match", pl.Int64, "", "number of the collective, in order of time"),
    Column("rank", pl.Int64, "", "rank"),
    Column("step", pl.Int64, "", "step"),
    Column("group", pl.String, "", "process group; null where the trace does not name it"),
    Column("kind", pl.String, "", "all-reduce, all-gather, reduce-scatter …"),
    Column("turn", pl.Int64, "", "order within step, group and kind"),
    Column("bytes", pl.Int64, "bytes", "payload of this rank; null where unknown"),
    Column("ranks", pl.Int64, "", "ranks that recorded it"),
    Column("group_size", pl.Int64, "", "ranks in the group; null where the trace does not give it"),
    Column("stream", pl.Int64, "", "stream on this rank; null on the host"),
    Column("lane", pl.String, "", "stream or thread of this rank that does one collective after another"),
    Column(
        "ready_ns", pl.Int64, "ns", "when it could have begun, had its thread been free; null on the device and where unknown"
    ),
    Column("start_ns", pl.Int64, "ns", "start by this rank's own clock"),
    Column("dur_ns", pl.Int64, "ns", "duration on this rank"),
    Column("exposed_ns", pl.Int64, "ns", "part in which this rank did nothing else"),
    Column("blocked_ns", pl.Int64, "ns", "part of that in which the rank's next work waited for it"),
)

#: kinds whose payload is the same on every rank: where it differs, these are two calls
SAME_SIZE = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "barrier")
#: two ends of one transfer between two ranks end together, as far as their clocks agree
PAIR_NS = 1_000_000
SLOT = ["group_key", "kind", "step"]


def matched_collectives(collective_calls: pl.DataFrame, own_time: pl.DataFrame) -> pl.DataFrame:
    """One row per collective and rank; calls that no other rank shares are left out.

    Raises MissingData where the ranks have no step, or no collective, in common.
    """
    steps = common_steps(own_time)
    if not steps:
        raise MissingData("the ranks have no step in common")
    calls = collective_calls.filter(pl.col("step").is_in(steps)).with_columns(
        group_key=pl.coalesce("members", "group", pl.lit("?")), end_ns=pl.col("start_ns") + pl.col("dur_ns")
    )
    one_sided = pl.col("kind").is_in(["send", "receive"])
    found = pl.concat([_in_turn(calls.filter(~one_sided)), _pairs(calls.filter(one_sided))])
    known = found.filter(pl.len().over("key") > 1)
    if known.is_empty():
        raise MissingData("the ranks have no collective in common")
    ended = pl.col("end_ns").median().over("key")
    return (
        known.with_columns(match=ended.rank("dense").cast(pl.Int64) - 1, ranks=pl.len().over("key").cast(pl.Int64))
        .with_columns(match=pl.struct("match", "key").rank("dense").cast(pl.Int64) - 1)
        .sort("match", "rank")
        .select(column.name for column in COLUMNS)
    )


def common_steps(own_time: pl.DataFrame) -> list[int]:
    """Steps that every rank recorded, in order."""
    ranks = own_time["rank"].n_unique()
    shared = own_time.group_by("step").agg(pl.col("rank").n_unique()).filter(pl.col("rank") == ranks)
    steps: list[int] = shared["step"].sort().to_list()
    return steps


def _in_turn(calls: pl.DataFrame) -> pl.DataFrame:
    """Add `key`: the same on every rank for the nth call of a kind in a step, where the ranks made equally many."""
    members = calls.group_by(*SLOT, "rank").len().group_by(SLOT).agg(even=pl.col("len").n_unique() == 1)
    slotted = calls.join(members, on=SLOT, how="left", maintain_order="left")
    by_size = pl.int_range(pl.len()).over(*SLOT, "rank", "bytes")
    counted = slotted.with_columns(
        nth=pl.when("even").then("turn").otherwise(by_size), size=pl.when("even").then(None).otherwise(pl.col("bytes"))
    )
    each = counted.group_by(*SLOT, "size", "rank").len().group_by(*SLOT, "size").agg(alike=pl.col("len").n_unique() == 1)
    keyed = counted.join(each, on=[*SLOT, "size"], how="left", nulls_equal=True, maintain_order="left").filter(
        pl.col("even") | (pl.col("alike") & pl.col("size").is_not_null())
    )
    key = pl.format("{}/{}/{}/{}/{}", "group_key", "kind", "step", pl.col("size").fill_null(-1), "nth")
    sizes = pl.col("bytes").drop_nulls().n_unique().over("key")
    consistent = ~pl.col("kind").is_in(SAME_SIZE) | (sizes <= 1)
    return keyed.with_columns(key=key).filter(consistent).select(*calls.columns, "key")


def _pairs(calls: pl.DataFrame) -> pl.DataFrame:
    """Add `key` to a send and the receive of another rank that ends with it, of the same size where that is known."""
    columns = [*calls.columns, "key"]
    if calls.is_empty():
        return calls.with_columns(key=pl.lit(None, dtype=pl.String)).select(columns)
    ordered = calls.with_columns(size=pl.col("bytes").fill_null(-1)).sort("end_ns").with_row_index("row")
    sends, receives = (ordered.filter(pl.col("kind") == kind) for kind in ("send", "receive"))
    met = sends.join_asof(
        receives.select("end_ns", "size", peer="rank", other="row"), on="end_ns", by="size", strategy="nearest",
        tolerance=PAIR_NS, check_sortedness=False,
    ).filter(pl.col("peer") != pl.col("rank"))  # fmt: skip
    alone = met.unique("other", keep="first", maintain_order=True).with_columns(key=pl.format("pair/{}", "row"))
    keys = pl.concat([alone.select("row", "key"), alone.select("key", row="other").select("row", "key")])
    return ordered.join(keys, on="row", maintain_order="left").with_columns(kind=pl.lit("send-receive")).select(columns)
