"""When did this rank enter and leave each collective, and how long did nothing else go on because of it?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.intervals import covered_per_window, merge, of_frame, subtract, union
from analyze.payload import first_tensor_bytes
from analyze.scalars import whole
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Ints, Spans
    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("id", pl.Int64, "", "event id"),
    Column("group", pl.String, "", "process group as the trace names it; null where it does not"),
    Column("members", pl.String, "", "ranks of the group, as JSON; null where the trace does not list them"),
    Column("kind", pl.String, "", "all-reduce, all-gather, reduce-scatter, broadcast, all-to-all, send, receive …"),
    Column("step", pl.Int64, "", "step in which it was launched; on the host, in which it began"),
    Column("turn", pl.Int64, "", "order within step, group and kind, from 0"),
    Column("bytes", pl.Int64, "bytes", "payload; null where the trace does not give it"),
    Column("group_size", pl.Int64, "", "ranks in the group; null where the trace does not give it"),
    Column("stream", pl.Int64, "", "stream; null on the host"),
    Column("lane", pl.String, "", "stream or thread that does one collective after another"),
    Column(
        "ready_ns", pl.Int64, "ns", "when it could have begun, had its thread been free; null on the device and where unknown"
    ),
    Column("start_ns", pl.Int64, "ns", "start; on the host, when what it exchanges had come from the device, if there is one"),
    Column("dur_ns", pl.Int64, "ns", "duration, waiting for peers included; on the host, until the waiting thread went on"),
    Column("exposed_ns", pl.Int64, "ns", "part in which its device (on the host: every thread, and the device) did nothing else"),
    Column("blocked_ns", pl.Int64, "ns", "part of that just before its end in which what came next waited for it"),
)

#: an operator of the communication library is no work of the rank's own
COMMUNICATION_OPERATOR = r"^(c10d|gloo|nccl|mpi|ucc|xccl|_c10d_functional)[:_]|^record_param_comms|::wait"
#: labels that stand for work of the loop's own thread, beside its operators
WORK_LABEL = r"^enumerate\(DataLoader\)|^Optimizer\.(step|zero_grad)#|^stepscope\.input_wait$"
WAITING_CALLS = ("device", "stream", "event", "copy")
#: stamps of one device's work may touch or overlap by this much
TOUCH_NS = 1_000
#: a thread that does nothing for this long while a host collective is under way waits for it
HOST_WAIT_NS = 500_000
#: a host collective's own thread may note its end later than the waiting thread does, by this share of it at most
LATE_NOTE_SHARE = 0.25


def collective_calls(
    collectives: pl.DataFrame,
    steps: pl.DataFrame,
    trace_info: TraceInfo,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    annotations: pl.DataFrame | None = None,
    host_collective_sizes: pl.DataFrame | None = None,
    host_collective_requests: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Collectives of the first cycle's steps, in order of their start, on the device that communicates most.

    A collective blocks where the work that follows it was ready to run; where the host came too late with that work, it
    does not, however exposed it is.
    """
    first = steps.filter(pl.col("cycle") == steps["cycle"].min())
    calls = _with_step(collectives, first).sort("start_ns")
    devices = calls.group_by("device").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)
    device = devices["device"][0] if devices.height else None
    calls = calls.filter(pl.col("device").eq_missing(device))
    if device is not None and kernels is not None:
        others, ready = _device_side(device, kernels, copies, launches, collectives)
    else:
        calls = _once_the_device_gave(calls, launches)
        computing = merge([], []) if kernels is None else of_frame(kernels)
        others, ready = union(_host_side(cpu_ops, annotations), computing), None
        calls = _until_noticed(calls, subtract(of_frame(calls), others))
    exposed = subtract(of_frame(calls), others)
    end = (calls["start_ns"] + calls["dur_ns"]).to_numpy()
    blocked = _up_to_each_end(exposed, end)
    if ready is not None:
        blocked = np.where(ready(end), blocked, 0)
    start = calls["start_ns"].to_numpy()
    return (
        calls.with_columns(
            pl.col("group", "kind").cast(pl.String),
            exposed_ns=pl.Series(covered_per_window(exposed, start, end), dtype=pl.Int64),
            blocked_ns=pl.Series(blocked, dtype=pl.Int64),
            bytes=pl.coalesce("bytes", _bytes_of_operators(calls, cpu_ops), _bytes_by_turn(calls, host_collective_sizes)),
        )
        .with_columns(
            members=pl.col("group").replace_strict(_members(trace_info), default=None, return_dtype=pl.String),
            turn=pl.int_range(pl.len()).over("step", "group", "kind").cast(pl.Int64),
            lane=pl.coalesce(pl.format("stream {}", "stream"), pl.format("thread {} {}", "process", "thread")),
        )
        .with_columns(ready_ns=_ready_ns(calls, host_collective_requests))
        .select(column.name for column in COLUMNS)
    )


def _with_step(collectives: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Those that belong to one of the steps; on the host, which launches nothing, by their start."""
    bounds = steps.sort("start_ns").select("start_ns", began="step", until=pl.col("start_ns") + pl.col("dur_ns"))
    placed = collectives.sort("start_ns").join_asof(bounds, on="start_ns", strategy="backward")
    began = pl.when(pl.col("start_ns") < pl.col("until"), pl.col("device").is_null()).then(pl.col("began"))
    found = placed.with_columns(step=pl.coalesce("step", began)).drop("began", "until")
    return found.filter(pl.col("step").is_in(steps["step"].implode()))


def _device_side(
    device: int,
    kernels: pl.DataFrame,
    copies: pl.DataFrame | None,
    launches: pl.DataFrame | None,
    collectives: pl.DataFrame,
) -> tuple[Spans, _Ready]:
    mine = pl.col("device") == device
    columns = ["id", "start_ns", "dur_ns", "launch_id"]
    work = pl.concat([frame.filter(mine).select(columns) for frame in (kernels, copies) if frame is not None])
    others = of_frame(work.join(collectives.select("id"), on="id", how="anti"))
    return others, _Ready(work.sort("start_ns"), launches)


class _Ready:
    """Was the work that follows a moment on the device launched before it, or did the host wait for that moment?"""

    def __init__(self, work: pl.DataFrame, launches: pl.DataFrame | None) -> None:
        launched = pl.DataFrame(schema={"launch_id": pl.Int64, "launched_ns": pl.Int64})
        self.waits: Spans = merge([], [])
        if launches is not None:
            launched = launches.select(launch_id="id", launched_ns="start_ns")
            self.waits = of_frame(launches.filter(pl.col("blocking").cast(pl.String).is_in(WAITING_CALLS)))
        known = work.join(launched, on="launch_id", how="left", maintain_order="left")
        self.start = known["start_ns"].to_numpy()
        # what has no known launch (a graph, say) is given the benefit of the doubt
        self.launched = known["launched_ns"].fill_null(np.iinfo(np.int64).min).to_numpy()

    def __call__(self, moments: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        following = np.searchsorted(self.start, moments - TOUCH_NS)
        last = following >= self.start.size
        launched = self.launched[np.minimum(following, max(self.start.size - 1, 0))]
        waiting = covered_per_window(self.waits, moments - TOUCH_NS, moments) > 0
        ready: np.ndarray[tuple[int], np.dtype[np.bool_]] = last | (launched < moments) | waiting
        return ready


def _host_side(cpu_ops: pl.DataFrame | None, annotations: pl.DataFrame | None) -> Spans:
    """What any thread does apart from communicating."""
    name = pl.col("name").cast(pl.String)
    spans = [merge([], [])]
    if cpu_ops is not None:
        spans.append(of_frame(cpu_ops.filter(~name.str.contains(COMMUNICATION_OPERATOR), pl.col("depth") == 0)))
    if annotations is not None:
        spans.append(of_frame(annotations.filter(name.str.contains(WORK_LABEL), ~pl.col("on_device"))))
    return union(*spans)


def _once_the_device_gave(calls: pl.DataFrame, launches: pl.DataFrame | None) -> pl.DataFrame:
    """Host collectives from the end of their first wait for the device: before it, they have nothing to exchange."""
    if launches is None:
        return calls
    within = ["process", "thread"]
    lanes = [pl.col(name).cast(pl.String) for name in within]
    waits = launches.filter(pl.col("blocking").cast(pl.String).is_in(WAITING_CALLS)).select(
        *lanes, "start_ns", given_ns=pl.col("start_ns") + pl.col("dur_ns")
    )
    began = calls.select(*lanes, "start_ns", until=pl.col("start_ns") + pl.col("dur_ns"))
    found = (
        began.with_row_index()
        .sort("start_ns")
        .join_asof(waits.sort("start_ns"), on="start_ns", by=within, strategy="forward", check_sortedness=False)
    )
    given = found.sort("index")["given_ns"]
    start = pl.select(pl.when(given < began["until"]).then(given).otherwise(began["start_ns"])).to_series()
    return calls.with_columns(start_ns=start, dur_ns=began["until"] - start)


def _until_noticed(calls: pl.DataFrame, exposed: Spans) -> pl.DataFrame:
    """Host collectives cut off where the thread that waited for them went on: theirs was just late to say so."""
    start, end = calls["start_ns"].to_numpy(), (calls["start_ns"] + calls["dur_ns"]).to_numpy()
    long = (exposed[1] - exposed[0]) >= HOST_WAIT_NS
    noticed = exposed[1][long]
    if noticed.size == 0:
        return calls
    slot = np.maximum(np.searchsorted(noticed, end, side="right") - 1, 0)
    late = end - noticed[slot]
    cut = (noticed[slot] > start) & (late >= 0) & (late <= LATE_NOTE_SHARE * (end - start))
    return calls.with_columns(dur_ns=pl.Series(np.where(cut, noticed[slot], end) - start, dtype=pl.Int64))


def _up_to_each_end(exposed: Spans, end: Ints) -> Ints:
    """Exposed time just before each end, back to the end before it or to where something else ran."""
    order = np.argsort(end, kind="stable")
    ordered = end[order]
    previous = np.concatenate([[np.iinfo(np.int64).min], ordered[:-1]])
    slot = np.searchsorted(exposed[0], ordered, side="left") - 1
    inside = np.zeros(end.size, dtype=np.bool_)
    start = previous
    if exposed[0].size:
        begun = np.maximum(slot, 0)
        inside = (slot >= 0) & (exposed[1][begun] >= ordered)
        start = np.maximum(exposed[0][begun], previous)
    result = np.zeros(end.size, dtype=np.int64)
    result[order] = np.where(inside, ordered - np.where(inside, start, ordered), 0)
    return result


def _members(trace_info: TraceInfo) -> dict[str, str]:
    """Ranks by group name, from the trace's header."""
    distributed = trace_info.header.get("distributedInfo")
    listed = distributed.get("pg_config") if isinstance(distributed, dict) else None
    groups = [group for group in listed or () if isinstance(group, dict)]
    return {
        str(group["pg_name"]): json.dumps(sorted(whole(rank) for rank in group["ranks"]))
        for group in groups
        if group.get("pg_name") is not None and group.get("ranks") and all(isinstance(rank, int) for rank in group["ranks"])
    }


def _bytes_of_operators(calls: pl.DataFrame, cpu_ops: pl.DataFrame | None) -> pl.Series:
    """Payload by the first tensor of the enclosing operator, where older traces give none with the collective."""
    nothing = pl.Series([None] * calls.height, dtype=pl.Int64)
    if cpu_ops is None or calls["op_id"].null_count() == calls.height:
        return nothing
    name = pl.col("name").cast(pl.String)
    ops = cpu_ops.filter(name.str.contains(COMMUNICATION_OPERATOR), pl.col("input_shapes").is_not_null())
    sized = ops.select(op_id="id", op_bytes=first_tensor_bytes("input_shapes", "input_types"))
    found: pl.Series = calls.select("op_id").join(sized, on="op_id", how="left", maintain_order="left")["op_bytes"]
    return found


def _ready_ns(calls: pl.DataFrame, requests: pl.DataFrame | None) -> pl.Series:
    """Nothing is asked for after it has begun, by whichever clock is later."""
    if requests is None:
        return pl.Series([None] * calls.height, dtype=pl.Int64)
    known = calls.select("id", "start_ns").join(requests, on="id", how="left", maintain_order="left")
    return known.select(pl.when(pl.col("ready_ns").is_not_null()).then(pl.min_horizontal("start_ns", "ready_ns"))).to_series()


def _bytes_by_turn(calls: pl.DataFrame, sizes: pl.DataFrame | None) -> pl.Series:
    """Payload from the window that was recorded with shapes."""
    if sizes is None:
        return pl.Series([None] * calls.height, dtype=pl.Int64)
    found: pl.Series = calls.select("id").join(sizes, on="id", how="left", maintain_order="left")["bytes"]
    return found
