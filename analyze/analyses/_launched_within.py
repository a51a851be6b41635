"""How much device work did the calls inside each host span start?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.intervals import Ints


def launched_within(
    spans: pl.DataFrame, launches: pl.DataFrame, work: pl.DataFrame, lane: Sequence[str] = ("process", "thread")
) -> pl.DataFrame:
    """The spans with device_ns and work_count of what was launched while each was open on its lane.

    lane names the columns that span and call must share: a thread, or a process where other threads launch on its behalf.
    """
    per_launch = work.drop_nulls("launch_id").group_by("launch_id").agg(device_ns=pl.col("dur_ns").sum(), work_count=pl.len())
    calls = launches.join(per_launch.rename({"launch_id": "id"}), on="id").select(
        *lane, "start_ns", "device_ns", "work_count_right"
    )
    lanes = pl.concat([spans.select(lane), calls.select(lane)]).unique(maintain_order=True).with_row_index("_lane")
    start = spans["start_ns"].to_numpy()
    end = start + spans["dur_ns"].fill_null(0).to_numpy()
    times = np.concatenate([start, end, calls["start_ns"].to_numpy()])
    origin, stride = (int(times.min()), int(times.max() - times.min()) + 2) if times.size else (0, 1)

    def key(frame: pl.DataFrame, time: Ints) -> Ints:
        coded = frame.select(lane).join(lanes, on=list(lane), how="left", maintain_order="left", nulls_equal=True)
        code: Ints = coded["_lane"].cast(pl.Int64).to_numpy()
        return code * stride + (time - origin)

    call_key = key(calls, calls["start_ns"].to_numpy())
    order = np.argsort(call_key, kind="stable")
    first, last = (np.searchsorted(call_key[order], key(spans, edge)) for edge in (start, end))

    def within(column: str) -> pl.Series:
        until = np.concatenate([[0], np.cumsum(calls[column].cast(pl.Int64).to_numpy()[order])])
        return pl.Series(until[last] - until[first], dtype=pl.Int64)

    return spans.with_columns(device_ns=within("device_ns"), work_count=within("work_count_right"))
