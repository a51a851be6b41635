"""Many small copies one after the other, where one copy would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.pieces import JOINING, freeing
from analyze.findings.places import place_of_copy, runs_with_places
from analyze.findings.saving import digits, replayed
from analyze.intervals import merge, of_frame
from analyze.replay.edits import combine, with_work_duration, without_host_regions, without_waits
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay
    from analyze.replay.program import Ints

DETECTOR = Detector(
    id="many-small-copies",
    title="Many small copies where one would do",
    meaning=(
        "Tensors go to or from the GPU one by one. Each copy costs a call, and from pageable memory a wait, however few bytes "
        "it moves; packed into one tensor they would cost one call and move at link speed."
    ),
    measured=(
        "Runs of copies in one direction with no kernel between them. Saving: the recorded steps replayed with each run as one "
        "copy of the same bytes at the host link's rate, without the host time between the copies of the run, the wait for "
        "it, and the operator that joins the pieces on the GPU and their being freed after it."
    ),
    fix=(
        Remedy(
            text="Collate into one tensor before copying, and split on the GPU",
            code="packed = torch.cat(features, dim=1).pin_memory()\npacked = packed.to(device, non_blocking=True)",
        ),
        Remedy(
            text="Copy whole batches, not samples: let the collate function stack them", code="DataLoader(..., collate_fn=stack)"
        ),
    ),
    doc="https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/#data-transfer-between-host-and-device",
)

#: a run shorter than this is ordinary: inputs, labels, a mask
MIN_COPIES_IN_RUN = 8
#: runs of copies larger than this on average are limited by bytes, not by calls
MAX_MEAN_BYTES = 1 << 20
#: share of a link's nominal rate that one packed, pinned copy reaches: low, usual
LINK_EFFICIENCY_LOW, LINK_EFFICIENCY = 0.4, 0.8
#: rate assumed for an unknown link, bytes/s
UNKNOWN_LINK_BYTES_PER_S = 15.75e9
#: setting one copy up, and returning from the call that starts it, ns
COPY_SETUP_NS, ASYNC_CALL_NS = 1_500.0, 8_000.0


def detect(
    replay: Replay,
    copies: pl.DataFrame,
    copy_runs: pl.DataFrame,
    host_link: pl.DataFrame,
    launches: pl.DataFrame,
    op_roots: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all runs of small host copies in the window."""
    runs = copy_runs.filter(
        pl.col("direction").is_in(["host-to-device", "device-to-host"]),
        pl.col("count") >= MIN_COPIES_IN_RUN,
        pl.col("bytes") / pl.col("count") <= MAX_MEAN_BYTES,
        pl.col("step").is_not_null(),
        # copies to the host with much host time between them are a checkpoint or the like
        pl.col("direction").eq("host-to-device") | (pl.col("end_ns") - pl.col("first_end_ns") < 10 * pl.col("dur_ns")),
    )
    if runs.is_empty():
        return []
    link = host_link["bytes_per_s"][0] or UNKNOWN_LINK_BYTES_PER_S
    low, usual = (_packed(runs, copies, launches, link * efficiency) for efficiency in (LINK_EFFICIENCY_LOW, LINK_EFFICIENCY))
    joins = _joins(runs, launches, op_roots)
    joining = without_host_regions(of_frame(joins))
    freed = without_host_regions(freeing(joins, cpu_ops, number((runs["end_ns"] - runs["start_ns"]).max())))
    steps = replay.program.steps
    count, moved = number(runs["count"].sum()) / steps, number(runs["bytes"].sum()) / steps
    direction = (
        runs.group_by("direction", maintain_order=True)
        .agg(pl.col("count").sum())
        .sort("count", descending=True, maintain_order=True)["direction"][0]
    )
    return replayed(
        DETECTOR.id,
        replay,
        combine(usual, joining, freed),
        cautious=low,
        host_side=True,
        message=(
            f"{count:,.0f} {direction} copies a step move {digits(moved / 1e6)} MB in all, {digits(moved / count / 1e3)} kB "
            "each; "
            "packed into one they would give back {saving}."
        ),
        location=place_of_copy(
            runs.sort("count", descending=True, maintain_order=True)["first_copy_id"][0], copies, cpu_ops, op_sources
        ),
        evidence=runs_with_places(runs.sort("count", descending=True, maintain_order=True).head(50), copies, cpu_ops, op_sources),
        thresholds={"min_copies_in_run": MIN_COPIES_IN_RUN, "max_mean_bytes": MAX_MEAN_BYTES},
    )


def _joins(runs: pl.DataFrame, launches: pl.DataFrame, op_roots: pl.DataFrame | None) -> pl.DataFrame:
    """Pieces that arrive as one need no operator that joins them: those that follow a run at once."""
    if op_roots is None:
        return pl.DataFrame(schema={"start_ns": pl.Int64, "dur_ns": pl.Int64})
    next_calls = launches.filter(pl.col("start_ns").is_in(runs["after_ns"].drop_nulls().to_list())).select(id="op_id")
    joins = op_roots.join(next_calls, on="id", how="semi").filter(pl.col("root_name").cast(pl.String).is_in(JOINING))
    return joins.select("start_ns", "dur_ns")


def _packed(runs: pl.DataFrame, copies: pl.DataFrame, launches: pl.DataFrame, rate: float) -> Edit:
    """Each run's first copy carries all its bytes, and nobody waits for it; everything up to the end of the last one is gone."""
    durations = COPY_SETUP_NS + runs["bytes"].to_numpy() / rate * 1e9
    first = copies.filter(pl.col("id").is_in(runs["first_copy_id"].to_list()))["launch_id"].drop_nulls().to_numpy()
    return combine(
        without_host_regions(merge(runs["first_end_ns"].to_numpy(), runs["end_ns"].to_numpy())),
        with_work_duration(runs["first_copy_id"].to_numpy(), np.asarray(durations, dtype=np.float64)),
        without_waits(first, cost_ns=ASYNC_CALL_NS),
        without_waits(_waits_for_first(runs, launches), cost_ns=0.0),
    )


def _waits_for_first(runs: pl.DataFrame, launches: pl.DataFrame) -> Ints:
    """Calls within a run's first operator that wait for its copy; what is read on the host is waited for all the same."""
    spans = (
        runs.filter(pl.col("direction") == "host-to-device").select(until="first_end_ns", start_ns="start_ns").sort("start_ns")
    )
    waits = launches.filter(pl.col("work_count").fill_null(0) == 0, pl.col("blocking").cast(pl.String) != "none")
    inside = waits.sort("start_ns").join_asof(spans, on="start_ns", strategy="backward")
    return inside.filter(pl.col("start_ns") < pl.col("until"))["id"].to_numpy()
