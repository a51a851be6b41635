"""The ranks together: their frames stacked, whose report stands at the head, and what to know before comparing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze import schema
from analyze.engine import Together, stacked
from analyze.errors import InputError, MissingData
from analyze.scalars import number, number_or_none, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from analyze.ranks import RankResult

#: clocks further apart than this are worth a line; below, arrivals are hardly told apart anyway
CLOCK_NS = 50_000
#: files named before the rest is counted
LISTED = 3
UNNUMBERED = "the traces do not say which ranks they are of: they cannot be compared"


def together(results: Sequence[RankResult]) -> Together | None:
    """What all ranks give together: the reason alone where several were read and fewer than two have a number; None for one."""
    numbered = [result for result in results if result.rank is not None]
    if len(numbered) < 2:  # noqa: PLR2004 - two make a comparison
        return Together({}, dict.fromkeys(stacked(), UNNUMBERED)) if len(results) > 1 else None
    rank = [pl.lit(result.rank, dtype=pl.Int64).alias("rank") for result in numbered]
    frames = {}
    for name in stacked():
        parts = [r.frames[name].with_columns(number) for r, number in zip(numbered, rank, strict=True) if name in r.frames]
        if parts:
            frames[name] = pl.concat(parts)
    missing = {name: reason for result in reversed(numbered) for name, reason in result.missing.items()}
    return Together(frames, missing)


def head_of(results: Sequence[RankResult], rank: int | None, all_ranks: Together | None) -> RankResult:
    """The rank asked for, else the one that the others wait for, else the one with the longest step."""
    if rank is not None:
        found = [result for result in results if result.rank == rank]
        if not found:
            known = ", ".join(str(result.rank) for result in results if result.rank is not None) or "none"
            raise InputError(f"there is no rank {rank} in this run; ranks: {known}")
        return found[0]
    late = _frame(all_ranks, "lateness")
    if late is not None:
        slowest = late.filter("significant")["rank"].to_list()[:1]
        awaited = [result for result in results if result.rank in slowest]
        if awaited:
            return awaited[0]
    return max(results, key=lambda result: result.summary.step_time.mean_ns if result.summary.step_time else 0)


def mixed_quality(results: Sequence[RankResult], all_ranks: Together | None, again: Sequence[str] = ()) -> pl.DataFrame:
    """Rows of data_quality that concern the ranks together; `again` names further recordings of the same ranks."""
    rows = [
        {"cause": cause, "count": count, "first_byte": None, "detail": detail, "file": ""}
        for cause, count, detail in (*_unnumbered(results), *_recorded_again(again), *_compared(all_ranks))
    ]
    return pl.DataFrame(rows, schema={column.name: column.dtype for column in schema.DATA_QUALITY})


def _unnumbered(results: Sequence[RankResult]) -> Iterator[tuple[str, int, str]]:
    unknown = [result for result in results if result.rank is None]
    if unknown and len(results) > 1:
        yield "unassigned-rank", len(unknown), "neither the trace nor its name says which rank it is: it is compared with none"


def _recorded_again(names: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    if names:
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        known = ", ".join(names[:LISTED])
        yield "ranks-recorded-again", len(names), f"of each rank the earliest recording is shown, not {known}{more}"


def _compared(all_ranks: Together | None) -> Iterator[tuple[str, int, str]]:
    steps, calls = _frame(all_ranks, "own_time"), _frame(all_ranks, "collective_calls")
    if steps is None:
        return
    shared = steps.filter(pl.col("rank").n_unique().over("step") == steps["rank"].n_unique())["step"].unique().sort()
    other = sorted(set(steps["step"]) - set(shared))
    if other:
        span = f"{shared[0]} to {shared[-1]}" if shared.len() else "none"
        yield "different-steps", len(other), f"steps that not every rank recorded are not compared; those compared: {span}"
    matched = _frame(all_ranks, "matched_collectives")
    if calls is not None:
        lost = calls.filter(pl.col("step").is_in(shared.implode())).height - (matched.height if matched is not None else 0)
        if lost:
            yield "unmatched-collectives", lost, "no other rank recorded these calls: they count as the rank's own time"
    turns = _frame(all_ranks, "device_turns")
    if turns is not None:
        sharing = turns.filter(pl.col("rank").n_unique().over("device_uuid") > 1)["rank"].unique().sort()
        named = ", ".join(str(rank) for rank in sharing[:LISTED]) + (" …" if sharing.len() > LISTED else "")
        detail = f"ranks {named} share a device: times of their kernels hold the turns that others took"
        yield "shared-device", sharing.len(), detail
    clocks = _frame(all_ranks, "rank_clocks")
    if clocks is not None:
        yield from _clocks(clocks)


def _clocks(clocks: pl.DataFrame) -> Iterator[tuple[str, int, str]]:
    moved = clocks.filter((pl.col("offset_ns").abs() > CLOCK_NS) | (pl.col("drift_ppm") != 0))
    if moved.is_empty():
        return
    furthest, left = number(moved["offset_ns"].abs().max()), number_or_none(clocks["residual_ns"].max()) or 0.0
    matched = whole(clocks["matched"].max())
    detail = (
        f"clocks of ranks are up to {furthest / 1e3:,.0f} µs from the lowest rank's, by the ends of {matched:,} matched "
        f"collectives; arrivals were aligned, to within {left / 1e3:,.1f} µs"
    )
    yield "clock-offset", moved.height, detail


def _frame(all_ranks: Together | None, name: str) -> pl.DataFrame | None:
    try:
        return None if all_ranks is None else all_ranks.frame(name)
    except MissingData:
        return None
