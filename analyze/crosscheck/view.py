"""A trace as both tools look at it: the same stretch of it, in the shape that our analyses take."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.scalars import whole

if TYPE_CHECKING:
    from analyze.engine import Workspace

#: HTA leaves the last step out where there are several names like this
STEP = "ProfilerStep"
WORK = {
    "id": pl.Int64, "device": pl.Int64, "stream": pl.Int64, "name": pl.Categorical, "role": pl.String, "start_ns": pl.Int64,
    "dur_ns": pl.Int64, "bytes_per_ns": pl.Float64, "launch_id": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class View:
    """What is compared.

    work has a role: compute, communication, copy (memsets too, as HTA has it) or other: busy, but none of these.
    """

    work: pl.DataFrame
    launches: pl.DataFrame
    annotations: pl.DataFrame
    #: HTA's rules, where they are switched on for an explanation
    inverted_spans_count: bool = False
    gaps_from_previous_row: bool = False
    known_launches_only: bool = False


def view_of(workspace: Workspace) -> View:
    """The stretch of the trace that HTA looks at: what was launched before the last step began, if there are steps."""
    launches: pl.DataFrame = workspace.get("launches")
    before = cutoff_ns(workspace)
    kept = launches if before is None else launches.filter(pl.col("start_ns") < before)
    work = _work(workspace)
    annotations = _device_annotations(workspace)
    if before is not None:
        work = work.join(kept.select(launch_id="id"), on="launch_id", how="semi", maintain_order="left")
        annotations = annotations.filter(pl.col("start_ns") < before)
    return View(work=work, launches=kept, annotations=annotations)


def cutoff_ns(workspace: Workspace) -> int | None:
    """Latest start of a step's label, its projection on the device included; None with fewer than two steps."""
    labels = workspace.get("annotation_events").filter(pl.col("name").cast(pl.String).str.contains(STEP)).collect()
    return None if labels["name"].n_unique() < 2 else whole(labels["start_ns"].max())  # noqa: PLR2004 - no two steps


def _work(workspace: Workspace) -> pl.DataFrame:
    rate = pl.when(pl.col("bytes") > 0, pl.col("dur_ns") > 0).then(pl.col("bytes") / pl.col("dur_ns"))
    rates = workspace.get("device_events").filter(pl.col("kind") != "kernel").select("id", bytes_per_ns=rate).collect()
    role = (
        pl.when(pl.col("kind").cast(pl.String) == "collective")
        .then(pl.lit("communication"))
        .when(pl.col("name").cast(pl.String).str.starts_with("Memset"))
        .then(pl.lit("copy"))
        .otherwise(pl.lit("compute"))
    )
    shared = [name for name in WORK if name != "bytes_per_ns"]
    parts = [pl.DataFrame(schema={name: WORK[name] for name in shared})]
    for table, its_role in (("kernels", role), ("copies", pl.lit("copy"))):
        with contextlib.suppress(MissingData):
            parts.append(workspace.get(table).with_columns(role=its_role).select(shared))
    work: pl.DataFrame = pl.concat(parts).join(rates, on="id", how="left", maintain_order="left")
    return work.select(list(WORK)).sort("start_ns", maintain_order=True)


def _device_annotations(workspace: Workspace) -> pl.DataFrame:
    events: pl.DataFrame = workspace.get("annotation_events").filter(pl.col("on_device").fill_null(value=False)).collect()
    return events.drop_nulls("dur_ns").select("name", "start_ns", "dur_ns")
