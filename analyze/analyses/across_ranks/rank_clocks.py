"""By how much do the ranks' clocks differ? Collectives end together everywhere, whoever began them late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.schema import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

COLUMNS = (
    Column("rank", pl.Int64, "", "rank"),
    Column("offset_ns", pl.Int64, "ns", "what is taken off this rank's times at its first collective; 0 for the lowest rank"),
    Column(
        "drift_ppm", pl.Float64, "ppm", "how much faster this rank's clock runs than the lowest rank's; 0 where it does not show"
    ),
    Column("from_ns", pl.Int64, "ns", "time on this rank's clock from which the drift counts"),
    Column("residual_ns", pl.Float64, "ns", "median distance of this rank's ends from the common ones afterwards"),
    Column("matched", pl.Int64, "", "collectives it rests on"),
)

#: kinds that end on all ranks at once; the root of a broadcast may be done before the others
TOGETHER = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "barrier", "send-receive", "other")
#: rounds of common ends and offsets; chains of groups need several
ROUNDS = 50
SETTLED_NS = 1.0
#: a drift is looked for in recordings of this length with this many collectives, and believed if it explains this much
DRIFT_SPAN_NS, DRIFT_MIN_MATCHED, DRIFT_BETTER = 1_000_000_000, 30, 0.8
#: host collectives end on each rank when its thread is scheduled again: an offset below this multiple of what is left over
#: is as likely that as a clock's
HOST_BELIEVED_FACTOR = 10.0
#: quartz does not drift by more
MAX_DRIFT = 200e-6


def rank_clocks(matched_collectives: pl.DataFrame) -> pl.DataFrame:
    """One row per rank: offset by medians over all collectives, and a drift where the recording is long enough to show one."""
    rows = matched_collectives.filter(pl.col("kind").is_in(TOGETHER))
    rows = matched_collectives if rows.is_empty() else rows
    ranks = matched_collectives["rank"].unique().sort()
    rank = rows["rank"].replace_strict(ranks, np.arange(ranks.len()), return_dtype=pl.Int64).to_numpy()
    match = rows["match"].rank("dense").cast(pl.Int64).to_numpy() - 1
    end = (rows["start_ns"] + rows["dur_ns"]).to_numpy()
    # differences are small numbers, and exact in float64; absolute times are not
    relative = (end - int(end.min())).astype(np.float64) if end.size else end.astype(np.float64)
    offset = _offsets(relative, rank, match, ranks.len())
    if rows["stream"].null_count() == rows.height:
        left = np.median(np.abs(_residuals(relative - offset[rank], match)))
        offset = np.where(np.abs(offset - offset[0]) < HOST_BELIEVED_FACTOR * left, offset[0], offset)
    begin = np.array([end[rank == one].min() if (rank == one).any() else 0 for one in range(ranks.len())], dtype=np.int64)
    drift = np.zeros(ranks.len())
    left = _residuals(relative - offset[rank], match)
    elapsed = (end - begin[rank]).astype(np.float64)
    moved = np.zeros(ranks.len())
    for one in range(ranks.len()):
        mine = rank == one
        drift[one] = _drift(elapsed[mine], left[mine])
        moved[one] = float(np.median(left[mine] - drift[one] * elapsed[mine])) if drift[one] else 0.0
    # each was held against the middle of all: the lowest rank's clock is the one that counts
    drift, offset = drift - drift[0], offset + moved - moved[0]
    left = _residuals(relative - offset[rank] - drift[rank] * elapsed, match)
    spread = [float(np.median(np.abs(left[rank == one]))) if (rank == one).any() else None for one in range(ranks.len())]
    return pl.DataFrame(
        {
            "rank": ranks,
            "offset_ns": np.rint(offset - offset[0]).astype(np.int64),
            "drift_ppm": drift * 1e6,
            "from_ns": begin,
            "residual_ns": spread,
            "matched": np.bincount(rank, minlength=ranks.len()),
        },
        schema={column.name: column.dtype for column in COLUMNS},
    )


def _offsets(end: Floats, rank: Ints, match: Ints, count: int) -> Floats:
    """Offsets that bring the ends together: in turn, common ends as medians over ranks, offsets as medians over ends."""
    offset = np.zeros(count)
    for _ in range(ROUNDS):
        distance = end - _medians(end - offset[rank], match)[match]
        moved = _medians(distance, rank, count)
        if np.abs(moved - offset).max() < SETTLED_NS:
            return moved
        offset = moved
    return offset


def _residuals(end: Floats, match: Ints) -> Floats:
    left: Floats = end - _medians(end, match)[match]
    return left


def _medians(values: Floats, key: Ints, count: int | None = None) -> Floats:
    """Median of the values of each key 0 … count-1; 0 for a key without any."""
    grouped = pl.DataFrame({"key": key, "value": values}).group_by("key").agg(pl.col("value").median())
    result = np.zeros(int(key.max()) + 1 if count is None else count)
    result[grouped["key"].to_numpy()] = grouped["value"].to_numpy()
    return result


def _drift(elapsed: Floats, left: Floats) -> float:
    """Slope of what is left over time, by the median of slopes between the two halves; 0 where it explains little."""
    if elapsed.size < DRIFT_MIN_MATCHED or float(np.ptp(elapsed)) < DRIFT_SPAN_NS:
        return 0.0
    order = np.argsort(elapsed)
    half = elapsed.size // 2
    early, late = order[:half], order[-half:]
    slope = float(np.median((left[late] - left[early]) / (elapsed[late] - elapsed[early])))
    without = float(np.median(np.abs(left - np.median(left))))
    corrected = left - slope * elapsed
    explained = float(np.median(np.abs(corrected - np.median(corrected))))
    return slope if abs(slope) <= MAX_DRIFT and explained < DRIFT_BETTER * without else 0.0
