"""How large is each collective on the host, where only the explaining window was recorded with shapes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.payload import first_tensor_bytes
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = (
    Column("id", pl.Int64, "", "event id of the collective"),
    Column("bytes", pl.Int64, "bytes", "payload of the collective at the same turn of an explained step"),
)

MARKER = r"^ProfilerStep#\d+$"
HOST_COLLECTIVE = r"^(gloo|mpi|ucc|xccl):"


def host_collective_sizes(collectives: pl.DataFrame, steps: pl.DataFrame, explained: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Sizes by turn within the step, for steps with as many collectives as the first explained one that has any.

    Raises MissingData where collectives run on a device, whose kernels say their own size, or no shapes were recorded.
    """
    on_host = collectives.filter(pl.col("device").is_null()).sort("start_ns")
    bounds = steps.sort("start_ns").select("start_ns", began="step", until=pl.col("start_ns") + pl.col("dur_ns"))
    placed = on_host.join_asof(bounds, on="start_ns", strategy="backward").filter(pl.col("start_ns") < pl.col("until"))
    theirs = _explained_sizes(explained)
    if placed.is_empty() or theirs.is_empty():
        raise MissingData("no collective on the host with shapes in the explaining window")
    ours = placed.with_columns(turn=pl.int_range(pl.len()).over("began"), turns=pl.len().over("began"))
    found = ours.join(theirs.select("turn", "turns", size="bytes"), on=["turn", "turns"], how="inner", maintain_order="left")
    return found.select("id", bytes="size")


def _explained_sizes(explained: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    """Turn, number of turns and bytes of the collectives of one explained step."""
    name = pl.col("name").cast(pl.String)
    spans = explained["annotation_events"].filter(~pl.col("on_device").fill_null(value=False))
    markers = spans.filter(name.str.contains(MARKER)).select("start_ns", step="id").sort("start_ns").collect()
    shaped = spans.filter(name.str.contains(HOST_COLLECTIVE)).sort("start_ns").collect()
    sized = (
        shaped.select("start_ns", bytes=first_tensor_bytes("input_dims", "input_types"))
        .join_asof(markers, on="start_ns", strategy="backward")
        .drop_nulls("step")
    )
    first = sized.filter(pl.col("step") == pl.col("step").min())
    return first.select("bytes", turn=pl.int_range(pl.len()), turns=pl.len()).drop_nulls("bytes")
