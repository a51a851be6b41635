"""All ranks of a run, put on their own clocks so that they can be played together: what `joint.py` plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from analyze.intervals import covered_per_window, equal_shares, merge
from analyze.replay.joint import NO_LANE, NO_ROW, PARTS, JointReplay
from analyze.replay.turns import Turns, operations
from analyze.scalars import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from analyze.intervals import Ints

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Marks: TypeAlias = list[tuple[float, Literal["arrive", "hold"], int]]


def joint_replay(
    matched_collectives: pl.DataFrame,
    rank_steps: pl.DataFrame,
    own_time: pl.DataFrame,
    rank_states: pl.DataFrame | None = None,
    device_turns: pl.DataFrame | None = None,
) -> JointReplay:
    """Rebuild the common steps of all ranks that share collectives; rank_states are of runs whose devices compute."""
    ranks = matched_collectives["rank"].unique().sort()
    mine = rank_steps.filter(pl.col("rank").is_in(ranks.implode()))
    steps = mine["step"].unique().sort()
    windows = own_time.filter(pl.col("step").is_in(steps.implode()), pl.col("rank").is_in(ranks.implode()))
    rows = matched_collectives.sort("match", "rank")
    index = rows["rank"].replace_strict(ranks, np.arange(ranks.len()), return_dtype=pl.Int64).to_numpy()
    match = rows["match"].rank("dense").cast(pl.Int64).to_numpy() - 1
    start = rows["start_ns"].to_numpy()
    end = start + rows["dur_ns"].to_numpy()
    ready = rows["ready_ns"].fill_null(rows["start_ns"]).to_numpy()
    waits_in = _waits_in(rows)
    waited = waits_in != NO_ROW
    goes_on = np.where(waited, end[waits_in], end)
    blocked = rows["blocked_ns"].to_numpy()
    arrives, resumes = np.zeros(rows.height), np.zeros(rows.height)
    bounds = np.zeros((ranks.len(), steps.len() + 1))
    spans: list[tuple[Floats, Floats, Floats, Floats]] = []
    marks: list[Marks] = []
    for place, rank in enumerate(ranks):
        own = windows.filter(pl.col("rank") == rank).sort("start_ns")
        edges = np.append(own["start_ns"].to_numpy(), own["start_ns"][-1] + own["step_ns"][-1])
        here = index == place
        held = merge(end[here] - blocked[here], end[here])

        def clock(times: Ints, begin: int = int(edges[0]), held: tuple[Ints, Ints] = held) -> Floats:
            return (times - begin - covered_per_window(held, np.full(times.size, begin), times)).astype(np.float64)

        arrives[here], resumes[here], bounds[place] = clock(ready[here]), clock(goes_on[here]), clock(edges)
        if device_turns is not None:
            span = device_turns.filter(pl.col("rank") == rank)
            began, ended = span["start_ns"].to_numpy(), (span["start_ns"] + span["dur_ns"]).to_numpy()
            spans.append((clock(began), clock(ended), span["alone_ns"].to_numpy(), span["shares_ns"].to_numpy()))
            marks.append(_marks(np.flatnonzero(here), match, arrives, resumes, waited))
    # on the host, transfers at once take turns on one way out, as one after the other; what is not known to be ready earlier
    # began when it was recorded to
    requested = rows["stream"].is_null() & rows["ready_ns"].is_not_null()
    lane_name = pl.select(pl.when(requested).then(pl.lit("host")).otherwise(rows["lane"])).to_series()
    lanes = rows.select(pl.struct("rank", lane_name.alias("lane")).rank("dense").cast(pl.Int64) - 1).to_series()
    lane = pl.select(pl.when(rows["stream"].is_not_null() | requested).then(lanes).otherwise(NO_LANE)).to_series().to_numpy()
    shortest = _transfers(rows.with_columns(requested=requested))
    return JointReplay(
        ranks=tuple(ranks.to_list()),
        steps=tuple(steps.to_list()),
        recorded_ns=number(mine["step_ns"].mean()),
        usual_ns=number(mine.group_by("step").agg(pl.col("step_ns").mean())["step_ns"].median()),
        parts={part: _table(mine, part) for part in PARTS},
        rank=index,
        arrives=arrives,
        resumes=resumes,
        blocks=waited,
        lane=lane,
        after=_after(index, arrives, resumes, waited),
        first=np.append(np.flatnonzero(np.diff(match, prepend=-1)), rows.height),
        transfer=shortest,
        bounds=bounds,
        on_device=rank_states is not None or rows["stream"].null_count() < rows.height,
        turns=None if device_turns is None else _turns(device_turns, ranks, bounds, spans, marks, _queued_behind(match, lane)),
    )


def _transfers(rows: pl.DataFrame) -> Floats:
    """What each collective takes by itself once all are there: its shortest call, less what others took of the host's way out."""
    times = rows.with_columns(transfer_ns=pl.col("dur_ns").min().over("match"), end_ns=pl.col("start_ns") + pl.col("dur_ns"))
    shares = []
    for mine in times.partition_by("rank", maintain_order=True):
        on_host = mine.filter("requested")
        end = on_host["end_ns"].to_numpy()
        start = end - on_host["transfer_ns"].to_numpy()
        alone, shared = equal_shares(start, end)
        shares.append(on_host.select("match", share_ns=pl.Series(alone + shared)))
    least = pl.concat(shares).group_by("match").agg(pl.col("share_ns").min())
    each = times.group_by("match", maintain_order=True).agg(pl.col("transfer_ns").first().cast(pl.Float64))
    found = each.join(least, on="match", how="left", maintain_order="left").select(pl.coalesce("share_ns", "transfer_ns"))
    transfers: Floats = found.to_series().to_numpy()
    return transfers


def _waits_in(rows: pl.DataFrame) -> Ints:
    """For each row the one with whose end the rank goes on that waits for it: itself where it blocked, NO_ROW where none does.

    Whoever waits for a host collective waits for those asked for before it as well; that they had ended need not stay so.
    """
    numbered = rows.with_row_index("row")
    blocking = pl.when(pl.col("blocked_ns") > 0).then("row")
    following = blocking.fill_null(strategy="backward").over("rank", "step")
    found = pl.when(pl.col("ready_ns").is_not_null()).then(pl.coalesce(blocking, following)).otherwise(blocking)
    places: Ints = numbered.select(found.fill_null(NO_ROW).cast(pl.Int64)).to_series().to_numpy()
    return places


def _after(rank: Ints, arrives: Floats, resumes: Floats, blocks: Flags) -> Ints:
    """For each row the rank's last earlier row that blocked it and let it go on before it arrived here."""
    found = np.full(rank.size, NO_ROW, dtype=np.int64)
    for one in range(int(rank.max(initial=-1)) + 1):
        mine = np.flatnonzero(rank == one)
        held = mine[blocks[mine]]
        if held.size:
            went_on = np.searchsorted(np.maximum.accumulate(resumes[held]), arrives[mine], side="right")
            slot = np.minimum(went_on, np.searchsorted(held, mine)) - 1
            found[mine] = np.where(slot >= 0, held[np.maximum(slot, 0)], NO_ROW)
    return found


def _table(rank_steps: pl.DataFrame, column: str) -> Floats:
    """A column as ranks x steps."""
    wide = rank_steps.sort("step", "rank").pivot(on="step", index="rank", values=column).sort("rank").drop("rank")
    table: Floats = wide.to_numpy().astype(np.float64)
    return table


def _turns(
    device_turns: pl.DataFrame,
    ranks: pl.Series,
    bounds: Floats,
    spans: Sequence[tuple[Floats, Floats, Floats, Floats]],
    marks: Sequence[Marks],
    queued_behind: dict[int, frozenset[int]],
) -> Turns:
    """Each rank's operations in the order of its own clock."""
    device = dict(device_turns.select("rank", "device_uuid").unique().iter_rows())
    return Turns(
        operations=tuple(operations(*each) for each in zip(marks, spans, bounds, strict=True)),
        device=tuple(device.get(rank) for rank in ranks),
        steps=bounds.shape[1] - 1,
        queued_behind=queued_behind,
    )


def _queued_behind(match: Ints, lane: Ints) -> dict[int, frozenset[int]]:
    """By collective those just before it on the streams or threads that serve it, one by rank."""
    last: dict[int, int] = {}
    found: dict[int, set[int]] = {}
    for collective, one in zip(match.tolist(), lane.tolist(), strict=True):
        if one != NO_LANE and one in last:
            found.setdefault(collective, set()).add(last[one])
        last[one] = collective
    return {collective: frozenset(before) for collective, before in found.items()}


def _marks(rows: Ints, match: Ints, arrives: Floats, resumes: Floats, blocks: Flags) -> Marks:
    """One rank's arrivals and the ends it waits for, in order; at one moment, an earlier collective's end comes first."""
    arrivals = [(float(arrives[row]), int(row), 0) for row in rows]
    holds = [(float(resumes[row]), int(row), 1) for row in rows if blocks[row]]
    return [(at, "hold" if held else "arrive", int(match[row])) for at, row, held in sorted(arrivals + holds)]
