"""Does one trace file hold several ranks, merged by a script? Then each process is a trace of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from analyze.ingest import Trace

#: how scripts that merge traces name the processes of a rank
RANK_IN_LANE = r"(?i)\brank[ _:#-]?(\d+)\b"
WITHOUT_PROCESS = ("raw",)


def by_process(trace: Trace) -> list[Trace]:
    """Return the trace itself, or one per rank where its processes are named after ranks, or devices tell them apart.

    A device belongs to the process whose launches alone reach it; where that is ambiguous, the file stays whole, and no
    launch is linked to another process's work.
    """
    owners = _ranks_of_lanes(trace) or _marked_processes(trace)
    if len(set(owners.values())) < 2:  # noqa: PLR2004 - one is no merged file
        return [trace]
    owners = _with_devices(trace, owners)
    ranks = sorted(set(owners.values())) if owners else []
    return [_part(trace, rank, [process for process, owner in owners.items() if owner == rank]) for rank in ranks] or [trace]


def _ranks_of_lanes(trace: Trace) -> dict[str, int]:
    """Rank by process, from the names of processes."""
    named = (
        trace.frames["lanes"]
        .filter(pl.col("thread").is_null())
        .with_columns(rank=pl.coalesce("name", pl.lit("")).str.extract(RANK_IN_LANE).cast(pl.Int64, strict=False))
        .drop_nulls("rank")
        .select(pl.col("process").cast(pl.String), "rank")
        .collect()
    )
    return dict(named.rows())


def _marked_processes(trace: Trace) -> dict[str, int]:
    """A number by process, where several processes mark steps of their own."""
    marked = trace.frames["annotation_events"].filter(
        pl.col("name").cast(pl.String).str.starts_with("ProfilerStep#"), ~pl.col("on_device").fill_null(value=False)
    )
    processes = marked.select(pl.col("process").cast(pl.String)).unique().collect()["process"].sort()
    return {process: number for number, process in enumerate(processes)}


def _with_devices(trace: Trace, owners: dict[str, int]) -> dict[str, int]:
    """The owners with those of the devices' lanes; nothing where a device cannot be told to belong to one process."""
    lane = pl.col("process").cast(pl.String)
    launching = trace.frames["runtime_events"].drop_nulls("correlation").select("correlation", process=lane)
    single = launching.filter(pl.col("process").n_unique().over("correlation") == 1).unique("correlation")
    work = trace.frames["device_events"].select("correlation", device_lane=lane)
    lanes = work.select(pl.col("device_lane").unique()).collect()["device_lane"].to_list()
    reached = work.join(single, on="correlation").select("process", "device_lane").unique().collect()
    found = dict(owners)
    for device in lanes:
        processes = {one for one, lane_reached in reached.rows() if lane_reached == device}
        mine = {owners[process] for process in processes if process in owners}
        mine = mine or {owners[device]} if device in owners else mine
        if len(mine) != 1:
            return {}
        found[device] = mine.pop()
    return found


def _part(trace: Trace, rank: int, processes: list[str]) -> Trace:
    mine = pl.col("process").cast(pl.String).is_in(processes)
    frames = {name: frame if name in WITHOUT_PROCESS else frame.filter(mine) for name, frame in trace.frames.items()}
    return replace(
        trace,
        name=f"{trace.name} (rank {rank})",
        path=f"{trace.path}#{rank}",
        rank=rank,
        info=replace(trace.info, rank=rank),
        frames=frames,
    )
