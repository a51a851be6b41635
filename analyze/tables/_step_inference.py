"""Finding steps where nothing marks them: by optimizer calls, else by a launch sequence that repeats."""

from __future__ import annotations

import numpy as np
import polars as pl

OPTIMIZER = r"^Optimizer\.step#"
#: a period must be seen this often, end to end, before it is believed
MIN_REPEATS = 3
#: share of launches that must repeat the one a period earlier
MIN_AGREEMENT = 0.95
#: a step of fewer launches than this is not told apart from an inner loop
MIN_PERIOD = 20


def infer(
    annotation_events: pl.LazyFrame, runtime_events: pl.LazyFrame, op_events: pl.LazyFrame, device_events: pl.LazyFrame
) -> pl.DataFrame:
    """Columns step, start_ns, dur_ns; no rows where no period is found."""
    ends = _optimizer_ends(annotation_events)
    if ends.size < 2:  # noqa: PLR2004 - two ends bound one step
        ends = _launch_period_starts(runtime_events, device_events)
    if ends.size < 2:  # noqa: PLR2004
        ends = _operator_period_starts(op_events)
    return pl.DataFrame(
        {"step": np.arange(max(ends.size - 1, 0)), "start_ns": ends[:-1], "dur_ns": np.diff(ends)},
        schema={"step": pl.Int64, "start_ns": pl.Int64, "dur_ns": pl.Int64},
    )


def _optimizer_ends(annotation_events: pl.LazyFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    calls = (
        annotation_events.filter(
            ~pl.col("on_device").fill_null(value=False), pl.col("name").cast(pl.String).str.contains(OPTIMIZER)
        )
        .select("name", end=pl.col("start_ns") + pl.col("dur_ns"))
        .drop_nulls()
        .collect()
    )
    if calls.is_empty():
        return np.empty(0, np.int64)
    # several optimizers per step (a GAN, say): the one called most rarely bounds the step
    rarest = calls.group_by("name").agg(pl.len(), pl.col("end").min()).sort("len", "end")["name"][0]
    ends: np.ndarray[tuple[int], np.dtype[np.int64]] = calls.filter(pl.col("name") == rarest)["end"].sort().to_numpy()
    return ends


def _launch_period_starts(
    runtime_events: pl.LazyFrame, device_events: pl.LazyFrame
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    work = device_events.filter(pl.col("kind") == "kernel").select("correlation", work="name").drop_nulls()
    launched = runtime_events.select("correlation", "start_ns").join(work, on="correlation").sort("start_ns").collect()
    return _period_starts(launched["work"].to_physical().to_numpy(), launched["start_ns"].to_numpy())


def _operator_period_starts(op_events: pl.LazyFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    calls = op_events.select("name", "start_ns").sort("start_ns").collect()
    return _period_starts(calls["name"].to_physical().to_numpy(), calls["start_ns"].to_numpy())


def _period_starts(
    codes: np.ndarray[tuple[int], np.dtype[np.uint32]], starts: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Starts of the repetitions of the shortest period that explains the sequence; empty where none does."""
    candidates = _candidate_periods(codes)
    for period in candidates:
        repeats = codes.size // period
        if period < MIN_PERIOD or repeats < MIN_REPEATS:
            continue
        if float((codes[period:] == codes[:-period]).mean()) >= MIN_AGREEMENT:
            offset = codes.size - repeats * period
            return starts[offset::period]
    return np.empty(0, np.int64)


def _candidate_periods(codes: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> list[int]:
    """Distances between occurrences of the rarest names that occur often enough, shortest first."""
    names, counts = np.unique(codes, return_counts=True)
    often = counts >= MIN_REPEATS
    candidates: set[int] = set()
    for name in names[often][np.argsort(counts[often], kind="stable")][:20]:
        candidates.update(int(gap) for gap in np.unique(np.diff(np.flatnonzero(codes == name))))
    return sorted(candidates)[:200]
