"""Rebuilding the recorded window as a program: who launched what, what each call waited for, what each kernel waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.replay.program import EVERYTHING, NOTHING, Program

if TYPE_CHECKING:
    from analyze.replay.program import Floats, Ints

#: a wait or start this close to the end of other work was caused by it; clocks of host and device agree no better
NEAR_NS = 20_000
#: work that starts this long after everything known allowed it waited for something else
UNEXPLAINED_NS = 10_000
#: first work of a stream that starts later than this after its launch waited for work that is not recorded
UNSEEN_BACKLOG_NS = 200_000
#: a launch this many times the median was waiting for room in the queue, where its work began so much later
QUEUE_WAIT_FACTOR, FAR_BEHIND_NS = 5, 1_000_000
#: work issued before a wait that is looked at for what it waited for
AWAITED_AMONG = 4_096
#: gaps on a stream beyond this are idle time, not the device's own spacing between two kernels
MAX_SPACING_NS = 6_000


def build_program(
    calls: pl.DataFrame, work: pl.DataFrame, event_times: Ints, *, start_ns: int, end_ns: int, steps: int
) -> Program:
    """Program of the window [start_ns, end_ns).

    calls: id, start_ns, dur_ns, blocking (launches of the launching threads that start work or wait, in start order).
    work: id, launch_id, device, stream, start_ns, dur_ns. event_times: starts of all events recorded on those threads.
    """
    call_start = calls["start_ns"].to_numpy()
    call_end = np.maximum(call_start + calls["dur_ns"].to_numpy(), call_start)
    before = np.maximum.accumulate(np.concatenate([[start_ns], call_end]))[:-1]
    begin = np.maximum(call_start, before)
    end = np.maximum(call_end, begin)
    tail_begin = int(end[-1]) if end.size else start_ns
    ordered = _ordered_work(calls, work)
    gap_events, call_events = _count_events(event_times, begin, end, start_ns, end_ns)
    device = _DeviceSide(ordered, begin)
    waits, awaited_end = _waits(calls, device, begin, end)
    dur = (end - begin).astype(np.float64)
    wake = np.where(awaited_end > begin, np.maximum(end - awaited_end, 0), 0).astype(np.float64)
    # a wait that was over before the call began costs what the call cost
    cost = np.where(awaited_end > begin, 0.0, dur)
    cost = np.where(_on_full_queue(device, end, dur), np.median(dur) if dur.size else 0.0, cost)
    # the tail of the window is a last call that does nothing
    return Program(
        gap=np.append(begin - before, max(end_ns - tail_begin, 0)).astype(np.float64),
        gap_events=gap_events,
        cost=np.append(cost, 0.0),
        wake=np.append(wake, 0.0),
        call_events=np.append(call_events, 0.0),
        waits=np.append(waits, NOTHING),
        call_id=np.append(calls["id"].to_numpy(), -1),
        call_start=np.append(begin, max(end_ns, tail_begin)),
        gap_start=np.append(before, tail_begin),
        work_call=device.call,
        work_dur=device.dur.astype(np.float64),
        latency=device.latency,
        spacing=device.spacing,
        work_stream=device.stream,
        depends=device.depends,
        work_id=device.ids,
        work_keep=np.ones(device.call.size, dtype=np.bool_),
        streams=device.streams,
        steps=steps,
        start_ns=start_ns,
        end_ns=end_ns,
    )


def _ordered_work(calls: pl.DataFrame, work: pl.DataFrame) -> pl.DataFrame:
    index = calls.select(launch_id="id").with_row_index("call")
    return (
        work.join(index, on="launch_id", how="inner")
        .with_columns(dense=pl.struct("device", "stream").rank("dense").cast(pl.Int64) - 1)
        .sort("call", "start_ns")
    )


def _count_events(times: Ints, begin: Ints, end: Ints, start_ns: int, end_ns: int) -> tuple[Floats, Floats]:
    """Events that began in each gap (the tail's last) and in each call."""
    inside = times[(times >= start_ns) & (times < end_ns)]
    slot = np.searchsorted(begin, inside, side="right") - 1
    in_call = (slot >= 0) & (inside < end[np.maximum(slot, 0)]) if end.size else np.zeros(inside.size, dtype=np.bool_)
    in_call_counts = np.bincount(slot[in_call], minlength=begin.size)
    in_gap_counts = np.bincount(slot[~in_call] + 1, minlength=begin.size + 1)
    return in_gap_counts.astype(np.float64), in_call_counts.astype(np.float64)


class _DeviceSide:
    """Work in launch order with what the recording says about when it could have started."""

    def __init__(self, work: pl.DataFrame, call_begin: Ints) -> None:
        self.ids = work["id"].to_numpy()
        self.call = work["call"].cast(pl.Int64).to_numpy()
        self.start = work["start_ns"].to_numpy()
        self.dur = work["dur_ns"].to_numpy()
        self.end = self.start + self.dur
        self.stream = work["dense"].to_numpy()
        self.streams = int(self.stream.max()) + 1 if self.stream.size else 0
        self.launched = call_begin[self.call] if self.call.size else self.start
        self.previous_end = self._previous_end()
        self.latency, self.spacing, self.depends = self._delays()

    def _previous_end(self) -> Ints:
        previous = np.full(self.start.size, np.iinfo(np.int64).min // 2)
        for stream in range(self.streams):
            mine = np.flatnonzero(self.stream == stream)
            previous[mine[1:]] = np.maximum.accumulate(self.end[mine])[:-1]
        return previous

    def _delays(self) -> tuple[Floats, Floats, Ints]:
        """Latency after the launch, spacing after the stream's previous work, and dependencies across streams.

        Work launched while its stream was busy began a spacing after the previous work, whenever it was launched; work
        launched on an idle stream began a latency after its launch. Each tells the one and leaves the other as usual.
        """
        queued = self.previous_end > self.launched
        after_launch = np.maximum(self.start - self.launched, 0).astype(np.float64)
        after_previous = np.maximum(self.start - self.previous_end, 0).astype(np.float64)
        # what a stream did before the window is not recorded, and its first work may have waited for it
        first = self.previous_end < self.launched.min(initial=0) - UNSEEN_BACKLOG_NS
        unseen = first & (after_launch > UNSEEN_BACKLOG_NS)
        told = ~queued & ~unseen
        usual_latency = float(np.quantile(after_launch[told], 0.25)) if told.any() else 5_000.0
        close = queued & (after_previous <= MAX_SPACING_NS)
        usual_spacing = float(np.median(after_previous[close])) if close.any() else 1_000.0
        latency = np.where(told, after_launch, np.minimum(usual_latency, after_launch))
        spacing = np.where(queued, after_previous, usual_spacing)
        depends = np.full(self.start.size, NOTHING, dtype=np.int64)
        if self.streams > 1:
            late = np.where(queued, after_previous, after_launch - usual_latency) > UNEXPLAINED_NS
            depends[late] = self._awaited_on_other_streams(np.flatnonzero(late))
            latency[depends != NOTHING] = usual_latency
            spacing[depends != NOTHING] = usual_spacing
        return latency, spacing, depends

    def _awaited_on_other_streams(self, late: Ints) -> Ints:
        """Earlier-launched work on another stream that ended just before each late start; NOTHING if there is none."""
        by_end = np.argsort(self.end, kind="stable")
        slot = np.searchsorted(self.end[by_end], self.start[late], side="right") - 1
        candidate = by_end[np.maximum(slot, 0)]
        believable = (
            (slot >= 0)
            & (self.start[late] - self.end[candidate] <= NEAR_NS)
            & (self.stream[candidate] != self.stream[late])
            & (candidate < late)
        )
        return np.where(believable, candidate, NOTHING)


def _waits(calls: pl.DataFrame, device: _DeviceSide, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """What each call waits for (NOTHING, EVERYTHING or a work index) and when the awaited work ended."""
    count = begin.size
    waits = np.full(count, NOTHING, dtype=np.int64)
    awaited_end = np.full(count, np.iinfo(np.int64).min // 2)
    if device.start.size == 0:
        return waits, awaited_end
    kind = calls["blocking"].cast(pl.String).fill_null("none").to_numpy()
    issued = np.searchsorted(device.call, np.arange(count), side="left")
    everything = np.isin(kind, ["device", "free"])
    latest = np.maximum.accumulate(device.end)
    has = everything & (issued > 0)
    waits[has] = EVERYTHING
    awaited_end[has] = np.minimum(latest[issued[has] - 1], end[has])
    own = np.searchsorted(device.call, np.arange(count), side="right") - 1
    copies = (kind == "copy") & (own >= issued)
    waits[copies] = own[copies]
    awaited_end[copies] = np.minimum(device.end[own[copies]], end[copies])
    for call in np.flatnonzero(np.isin(kind, ["stream", "event"]) & (issued > 0)):
        awaited_by = _awaited_by_stream_wait if kind[call] == "stream" else _awaited_by_event_wait
        work = awaited_by(device, int(issued[call]), int(end[call]))
        if work != NOTHING:
            waits[call], awaited_end[call] = work, min(int(device.end[work]), int(end[call]))
    return waits, awaited_end


def _awaited_by_stream_wait(device: _DeviceSide, issued: int, call_end: int) -> int:
    """The last work of the stream whose end best explains the wait's; a stream still at work cannot have been awaited."""
    if device.streams == 1:
        return issued - 1
    window = slice(max(0, issued - AWAITED_AMONG), issued)
    streams = device.stream[window]
    last = {int(s): window.start + int(np.flatnonzero(streams == s)[-1]) for s in np.unique(streams)}
    possible = [work for work in last.values() if device.end[work] <= call_end + NEAR_NS]
    return max(possible, key=lambda work: int(device.end[work]), default=issued - 1)


def _awaited_by_event_wait(device: _DeviceSide, issued: int, call_end: int) -> int:
    """The work that ended last before the wait did: its stream may have had more to do after the event."""
    first = max(0, issued - AWAITED_AMONG)
    ended = first + np.flatnonzero(device.end[first:issued] <= call_end + NEAR_NS)
    return int(ended[np.argmax(device.end[ended])]) if ended.size else NOTHING


def _on_full_queue(device: _DeviceSide, end: Ints, dur: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Launches that took long while the device was far behind: they waited for room, which is the device's time.

    How full the queue was cannot be counted: work launched before the window may have filled it.
    """
    if device.start.size == 0:
        return np.zeros(end.size, dtype=np.bool_)
    calls = np.arange(end.size)
    first = np.searchsorted(device.call, calls, side="left")
    launches = np.searchsorted(device.call, calls, side="right") > first
    behind = device.start[np.minimum(first, device.start.size - 1)] - end
    return launches & (behind > FAR_BEHIND_NS) & (dur > QUEUE_WAIT_FACTOR * np.median(dur))
