"""Which chain of host and device activity sets the step time?"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from analyze.analyses._device_work import device_work
from analyze.intervals import covered_per_window, merge, of_frame
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Ints
    from analyze.replay import Replay

COLUMNS = (
    Column("position", pl.Int64, "", "place on the path, 0 at the start of the window"),
    Column(
        "kind", pl.String, "",
        "host, other_thread, input_wait, launch (the call), launch_latency, compute, communication, copy, device_spacing, "
        "synchronisation, allocation, copy_call",
    ),
    Column("start_ns", pl.Int64, "ns", "start, counted from the start of the replayed window"),
    Column("dur_ns", pl.Int64, "ns", "duration; segments adjoin, so all add up to the window"),
    Column("launch_id", pl.Int64, "", "host call: this one, or the one that the host was on its way to; null on the device"),
    Column("work_id", pl.Int64, "", "kernel or copy; null on the host"),
    Column("name", pl.Categorical, "", "its name"),
)  # fmt: skip

#: kind of a call by what it waits for
CALL_KIND = {
    "device": "synchronisation",
    "stream": "synchronisation",
    "event": "synchronisation",
    "allocation": "allocation",
    "free": "allocation",
    "copy": "copy_call",
}
WORK_KIND = {"collective": "communication", "memcpy": "copy"}
#: replayed times are sums of floats; two that differ by less are the same
TOLERANCE_NS = 1.0


class _Segment(NamedTuple):
    """A stretch of the path. call and work are indices into the program, -1 for none."""

    kind: str
    start: float
    end: float
    call: int = -1
    work: int = -1


def critical_path(
    replay: Replay,
    launches: pl.DataFrame,
    kernels: pl.DataFrame,
    copies: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The replayed window walked back from its end through what determined each start.

    other_thread is host time before a call that another thread makes than the call before: the path changes threads.
    """
    calls = pl.DataFrame({"id": replay.program.call_id}).join(launches, on="id", how="left", maintain_order="left")
    work = device_work(kernels, copies).select("id", "name", "kind")
    items = pl.DataFrame({"id": replay.program.work_id}).join(work, on="id", how="left", maintain_order="left")
    found = list(reversed(_Walk(replay, calls, items, input_wait).back()))
    program = replay.program
    start = np.rint([segment.start for segment in found]).astype(np.int64)
    end = np.rint([segment.end for segment in found]).astype(np.int64)
    call = pl.Series([segment.call for segment in found], dtype=pl.Int64)
    item = pl.Series([segment.work for segment in found], dtype=pl.Int64)
    named = pl.DataFrame(
        {
            "kind": [segment.kind for segment in found],
            "start_ns": start,
            "dur_ns": end - start,
            "launch_id": _gather(program.call_id, call),
            "work_id": _gather(program.work_id, item),
            "call_name": _gather_names(calls["name"], call),
            "work_name": _gather_names(items["name"], item),
        }
    )
    return (
        named.filter(pl.col("dur_ns") > 0)
        .with_row_index("position")
        .with_columns(pl.col("position").cast(pl.Int64), name=pl.coalesce("work_name", "call_name"))
        .select(column.name for column in COLUMNS)
    )


def _gather(ids: Ints, index: pl.Series) -> pl.Series:
    found = pl.Series(ids[index.clip(lower_bound=0).to_numpy()], dtype=pl.Int64) if ids.size else pl.Series(index, dtype=pl.Int64)
    known: pl.Series = found.zip_with((index >= 0) & (found >= 0), pl.Series([None], dtype=pl.Int64))
    return known


def _gather_names(names: pl.Series, index: pl.Series) -> pl.Series:
    if names.is_empty():
        return pl.Series([None] * index.len(), dtype=pl.Categorical)
    found = names.cast(pl.Categorical).gather(index.clip(lower_bound=0))
    known: pl.Series = found.zip_with(index >= 0, pl.Series([None], dtype=pl.Categorical))
    return known


class _Walk:
    """From the end of the last pass to its beginning, one cause at a time."""

    def __init__(self, replay: Replay, calls: pl.DataFrame, items: pl.DataFrame, input_wait: pl.DataFrame | None) -> None:
        program, played = replay.program, replay.played
        self.origin = played.pass_begin
        self.gap_begin = (played.gap_begin - self.origin).tolist()
        self.call_begin = (played.call_begin - self.origin).tolist()
        self.call_end = (played.call_end - self.origin).tolist()
        self.work_start = (played.work_start - self.origin).tolist()
        self.work_end = (played.work_end - self.origin).tolist()
        self.wake, self.waits = program.wake.tolist(), program.waits.tolist()
        self.work_call, self.latency = program.work_call.tolist(), program.latency.tolist()
        self.spacing, self.depends = program.spacing.tolist(), program.depends.tolist()
        self.previous = _previous_on_stream(program.work_stream).tolist()
        self.latest = _latest_so_far(played.work_end, program.work_call, program.gap.size).tolist()
        blocking = calls["blocking"].cast(pl.String).fill_null("none")
        self.call_kind = blocking.replace_strict(CALL_KIND, default="launch").to_list()
        self.work_kind = items["kind"].fill_null("").replace_strict(WORK_KIND, default="compute").to_list()
        waiting = of_frame(input_wait) if input_wait is not None else merge([], [])
        length = np.maximum(program.call_start - program.gap_start, 1)
        self.waiting_share = (covered_per_window(waiting, *program.gap_spans()) / length).tolist()
        thread = calls.select(code=pl.struct("process", "thread").rank("dense").cast(pl.Int64))["code"]
        # the last call is the end of the window, made by nobody
        changed = ((thread != thread.shift(1)) & (calls["id"] >= 0)).fill_null(value=False)
        self.changed = changed.to_list()

    def back(self) -> list[_Segment]:
        segments: list[_Segment] = []
        work = int(np.argmax(self.work_end)) if self.work_end else -1
        call = len(self.call_end) - 1
        if work >= 0 and self.work_end[work] <= self.call_end[call] + TOLERANCE_NS:
            work = -1
        while work >= 0 or call >= 0:
            found, work, call = self._before_work(work) if work >= 0 else self._before_call(call)
            segments += [segment for segment in map(_within, found) if segment is not None]
            if found and found[-1].start <= 0:
                break
        return segments

    def _before_work(self, work: int) -> tuple[list[_Segment], int, int]:
        start, call = self.work_start[work], self.work_call[work]
        own = _Segment(self.work_kind[work], start, self.work_end[work], work=work)
        before, awaited = self.previous[work], self.depends[work]
        launched = self.call_begin[call] + self.latency[work]
        if before >= 0 and self.work_end[before] + self.spacing[work] >= start - TOLERANCE_NS:
            return [own, _Segment("device_spacing", self.work_end[before], start, work=work)], before, -1
        if awaited >= 0 and self.work_end[awaited] >= start - TOLERANCE_NS:
            return [own], awaited, -1
        if launched >= start - TOLERANCE_NS:
            latency = _Segment("launch_latency", self.call_begin[call], start, call=call, work=work)
            return [own, latency, *self._gap(call)], -1, call - 1
        # it waited for work of the pass before
        return [own, _Segment("device_spacing", 0.0, start, work=work)], -1, -1

    def _before_call(self, call: int) -> tuple[list[_Segment], int, int]:
        begin, end = self.call_begin[call], self.call_end[call]
        waits = self.waits[call]
        work = waits if waits >= 0 else self.latest[call] if waits == -2 else -1  # noqa: PLR2004 - EVERYTHING
        if work >= 0 and self.work_end[work] >= end - self.wake[call] - TOLERANCE_NS and self.work_end[work] > begin:
            return [_Segment("synchronisation", self.work_end[work], end, call=call)], work, -1
        return [_Segment(self.call_kind[call], begin, end, call=call), *self._gap(call)], -1, call - 1

    def _gap(self, call: int) -> list[_Segment]:
        begin, end = self.gap_begin[call], self.call_begin[call]
        middle = begin + (end - begin) * min(self.waiting_share[call], 1.0)
        kind = "other_thread" if self.changed[call] else "host"
        return [_Segment(kind, middle, end, call=call), _Segment("input_wait", begin, middle, call=call)]


def _within(segment: _Segment) -> _Segment | None:
    """The part of a segment after the start of the pass."""
    if segment.end <= 0:
        return None
    return segment if segment.start >= 0 else _Segment(segment.kind, 0.0, segment.end, segment.call, segment.work)


def _previous_on_stream(stream: Ints) -> Ints:
    previous = np.full(stream.size, -1, dtype=np.int64)
    for each in np.unique(stream):
        mine = np.flatnonzero(stream == each)
        previous[mine[1:]] = mine[:-1]
    return previous


def _latest_so_far(work_end: np.ndarray[tuple[int], np.dtype[np.float64]], work_call: Ints, calls: int) -> Ints:
    """For each call the work issued so far, its own included, that ends last; -1 before any."""
    issued = np.searchsorted(work_call, np.arange(calls), side="right")
    if work_end.size == 0:
        return np.full(calls, -1, dtype=np.int64)
    highest = np.maximum.accumulate(work_end)
    is_new = np.concatenate([[True], work_end[1:] > highest[:-1]])
    latest = np.maximum.accumulate(np.where(is_new, np.arange(work_end.size), 0))
    return np.where(issued > 0, latest[np.maximum(issued - 1, 0)], -1)
