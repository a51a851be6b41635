"""Edits: each is a fix, as a function from a program to a changed copy. They compose by applying one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from analyze.intervals import covered_per_window, subtract, union
from analyze.replay.program import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.intervals import Spans
    from analyze.replay.program import Flags, Floats, Ints, Program

    Edit = Callable[[Program], Program]


#: host time that recording an event may take, when telling long stretches of host work from short ones
RECORDING_NS = 4_000.0
#: idle time between two kernels of a graph
GRAPH_SPACING_NS = 800.0


def combine(*edits: Edit) -> Edit:
    """All edits, one after the other."""

    def edit(program: Program) -> Program:
        for one in edits:
            program = one(program)
        return program

    return edit


def without_host_regions(regions: Spans, *, keep_share: float = 0.0, keep_work: bool = False) -> Edit:
    """Host work within the spans vanishes: its gaps, calls, waits, and what it launched unless keep_work.

    keep_share of the host time stays, for a fix that does the same cheaper. Spans are in trace time; what an edit before
    this one took of a gap is not taken again.
    """

    def edit(program: Program) -> Program:
        length = np.maximum(program.call_start - program.gap_start, 1)
        before = covered_per_window(program.claimed, *program.gap_spans()) / length
        inside = covered_per_window(subtract(regions, program.claimed), *program.gap_spans()) / length
        dropped = _begins_within(regions, program.call_start) & (program.call_id >= 0)
        left = 1.0 - np.clip(inside / np.maximum(1.0 - before, 1e-9), 0.0, 1.0) * (1.0 - keep_share)
        call_left = np.where(dropped, keep_share, 1.0)
        gone = dropped[program.work_call] & (not keep_work)
        return replace(
            program,
            gap=program.gap * left,
            gap_events=program.gap_events * left,
            cost=program.cost * call_left,
            wake=program.wake * call_left,
            call_events=program.call_events * call_left,
            waits=np.where(dropped, NOTHING, program.waits),
            work_keep=program.work_keep & ~gone,
            claimed=union(program.claimed, regions),
        )

    return edit


def without_waits(call_ids: Ints, *, cost_ns: float | None = None) -> Edit:
    """The calls no longer wait; they cost cost_ns where given, else what they cost before their wait."""

    def edit(program: Program) -> Program:
        mine = np.isin(program.call_id, call_ids)
        cost = program.cost if cost_ns is None else np.where(mine, cost_ns, program.cost)
        return replace(
            program,
            waits=np.where(mine, NOTHING, program.waits),
            wake=np.where(mine, 0.0, program.wake),
            cost=cost,
        )

    return edit


def without_calls(call_ids: Ints) -> Edit:
    """The calls and the work they started vanish; the gaps around them stay."""

    def edit(program: Program) -> Program:
        mine = np.isin(program.call_id, call_ids)
        return replace(
            program,
            waits=np.where(mine, NOTHING, program.waits),
            wake=np.where(mine, 0.0, program.wake),
            cost=np.where(mine, 0.0, program.cost),
            call_events=np.where(mine, 0.0, program.call_events),
            work_keep=program.work_keep & ~mine[program.work_call],
        )

    return edit


def with_work_duration(work_ids: Ints, dur_ns: Floats) -> Edit:
    """Work takes other durations, given by id."""

    def edit(program: Program) -> Program:
        order = np.argsort(work_ids)
        slot = np.minimum(np.searchsorted(work_ids[order], program.work_id), max(order.size - 1, 0))
        mine = work_ids[order][slot] == program.work_id if order.size else np.zeros(program.work_id.size, dtype=np.bool_)
        return replace(
            program, work_dur=np.where(mine, dur_ns[order][slot], program.work_dur) if order.size else program.work_dur
        )

    return edit


def with_work_scaled(regions: Spans, share: float) -> Edit:
    """Work launched within the host spans takes this share of its time and follows on without spacing."""

    def edit(program: Program) -> Program:
        mine = _begins_within(regions, program.call_start)[program.work_call]
        return replace(
            program,
            work_dur=np.where(mine, program.work_dur * share, program.work_dur),
            spacing=np.where(mine, 0.0, program.spacing),
        )

    return edit


def without_work(work_ids: Ints) -> Edit:
    """Device work vanishes; the calls that launched it stay."""

    def edit(program: Program) -> Program:
        return replace(program, work_keep=program.work_keep & ~np.isin(program.work_id, work_ids))

    return edit


def as_graph(*, launch_ns: float, longest_gap_ns: float, keep_regions: Spans, keep_share: float = 0.0) -> Edit:
    """Each step's launches as one: host time between launches vanishes, save keep_share of it.

    What a graph cannot swallow stays: waits, the kept regions (loading, say; in trace time), and gaps that are longer than
    longest_gap_ns beside those, which are host work rather than launching.
    """

    def edit(program: Program) -> Program:
        length = np.maximum(program.call_start - program.gap_start, 1)
        covered = np.clip(covered_per_window(keep_regions, *program.gap_spans()) / length, 0.0, 1.0)
        own = program.gap * (1.0 - covered) - RECORDING_NS * program.gap_events
        kept = np.where(own > longest_gap_ns, 1.0, np.maximum(covered, keep_share))
        held = (program.waits != NOTHING) | _begins_within(keep_regions, program.call_start)
        call_kept = np.where(held, 1.0, keep_share)
        gap = program.gap * kept
        first = np.linspace(0, program.gap.size, program.steps, endpoint=False).astype(np.int64)
        gap[first] += launch_ns
        return replace(
            program,
            gap=gap,
            spacing=np.minimum(program.spacing, GRAPH_SPACING_NS),
            gap_events=program.gap_events * kept,
            cost=program.cost * call_kept,
            call_events=program.call_events * call_kept,
        )

    return edit


def _begins_within(regions: Spans, times: Ints) -> Flags:
    slot = np.searchsorted(regions[0], times, side="right") - 1
    if regions[0].size == 0:
        return np.zeros(times.size, dtype=np.bool_)
    return (slot >= 0) & (times < regions[1][np.maximum(slot, 0)])
