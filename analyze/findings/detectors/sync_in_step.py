"""The host stops inside the step to wait for the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import busiest_place, with_places
from analyze.findings.saving import digits, replayed
from analyze.intervals import of_frame
from analyze.replay.edits import combine, without_host_regions, without_waits
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="sync-in-step",
    title="The host waits for the GPU inside the step",
    meaning=(
        "Reading a value from the GPU (.item(), float(loss), a condition on a tensor, nonzero) or synchronising stops the host "
        "until everything launched so far has run. The queue is then empty, and the GPU idles until new work arrives."
    ),
    measured=(
        "Synchronising calls, and small copies to the host that are waited for. Saving: the recorded steps replayed with none "
        "of them waiting; a wait on a device that stays busy costs nothing and is no finding."
    ),
    fix=(
        Remedy(text="Keep values on the GPU and read them rarely", code="total += loss.detach()      # not loss.item()"),
        Remedy(
            text="Use the library's version, which stays on the GPU",
            code="torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        ),
        Remedy(
            text="Replace conditions on tensors by torch.where or masks; find the reads",
            code='torch.cuda.set_sync_debug_mode("warn")',
        ),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization",
)

#: copies to the host up to this size are values being read; larger ones are a finding of their own
MAX_READ_BYTES = 256 << 10
#: what the call costs without its wait, ns
CALL_NS = 4_000.0


def detect(
    replay: Replay,
    launches: pl.DataFrame,
    copies: pl.DataFrame | None = None,
    op_roots: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
    collectives: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all waits of the window that are neither large copies, nor the allocator's, nor a host collective's."""
    reads = pl.DataFrame(schema={"op_id": pl.Int64})
    window = launches.filter(pl.col("id").is_in(replay.program.call_id.tolist()))
    waits = window.filter(pl.col("blocking").cast(pl.String).is_in(["stream", "device", "event"]))
    if copies is not None:
        own = copies.filter(~pl.col("for_exchange").fill_null(value=False))
        host = own.filter(pl.col("direction").is_in(["host-to-device", "device-to-host"]))
        reads = host.filter((pl.col("direction") == "device-to-host") & (pl.col("bytes") <= MAX_READ_BYTES))
        # a wait inside an operator that copies more belongs to that copy
        larger = host.join(reads, on="id", how="anti")["op_id"].drop_nulls().unique()
        waits = waits.filter(pl.col("op_id").is_null() | ~pl.col("op_id").is_in(larger.to_list()))
        reading = window.join(reads.select(id="launch_id"), on="id", how="semi")
        waits = pl.concat([waits, reading]).unique("id", maintain_order=True)
    waits = waits if collectives is None else _outside_collectives(waits, collectives)
    if waits.is_empty():
        return []
    waiting = without_waits(waits["id"].to_numpy(), cost_ns=CALL_NS)
    unread = waiting
    if op_roots is not None and not reads.is_empty():
        # a value that is not read needs no operator to read it
        roots = op_roots.join(reads.select(id="op_id").drop_nulls(), on="id", how="semi")
        unread = combine(waiting, without_host_regions(of_frame(roots)))
    blocked_ms = number(waits["dur_ns"].sum()) / replay.program.steps / 1e6
    names = waits.group_by("name", maintain_order=True).agg(pl.len()).sort("len", descending=True, maintain_order=True)
    return replayed(
        DETECTOR.id,
        replay,
        unread,
        cautious=waiting,
        host_side=False,
        message=(
            f"The host stops {waits.height / replay.program.steps:,.3g} times a step for the GPU ({names['name'][0]}; "
            f"{digits(blocked_ms)} ms in the calls); without these waits the step would give back {{saving}}."
        ),
        location=busiest_place(waits["op_id"], cpu_ops, op_sources),
        evidence=with_places(
            waits.sort("dur_ns", descending=True, maintain_order=True)
            .select("step", "name", "start_ns", "dur_ns", "op_id")
            .head(50),
            cpu_ops,
            op_sources,
        ),
        thresholds={"max_read_bytes": MAX_READ_BYTES},
    )


def _outside_collectives(waits: pl.DataFrame, collectives: pl.DataFrame) -> pl.DataFrame:
    """Without what threads that exchange gradients over the host wait for: they have nothing to send before."""
    lanes = [pl.col(name).cast(pl.String).alias(f"_{name}") for name in ("process", "thread")]
    on_host = collectives.filter(pl.col("device").is_null()).sort("start_ns")
    spans = on_host.select(*lanes, "start_ns", _until=pl.col("start_ns") + pl.col("dur_ns"))
    placed = waits.with_columns(lanes).sort("start_ns")
    placed = placed.join_asof(spans, on="start_ns", by=["_process", "_thread"], check_sortedness=False)
    return placed.filter((pl.col("start_ns") >= pl.col("_until")).fill_null(value=True)).select(waits.columns)
