"""Where does the step go: parts that add up to the step time the report gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.analyses._blocked import blocked_spans
from analyze.intervals import clip, covered_per_window, gaps, merge, of_frame, subtract, total, union
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Spans
    from analyze.replay import Replay

COLUMNS = (
    Column("part", pl.String, "", "compute, exposed_communication, exposed_copy, idle_<cause>, unexplained"),
    Column("ns", pl.Float64, "ns", "mean per step"),
)

#: what holds the host during a call, by what the call waits for
CALL_CAUSE = {
    "copy": "blocking_copy",
    "device": "synchronisation",
    "stream": "synchronisation",
    "event": "synchronisation",
    "allocation": "allocation",
    "free": "allocation",
    "none": "launch",
}


def step_parts(
    replay: Replay,
    kernels: pl.DataFrame,
    launches: pl.DataFrame,
    copies: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
    collective_calls: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Parts of the replayed step of the busiest device; what the replay does not explain is its own part.

    What ranks exchange over the host, with the device standing still for it, is exposed communication as well.
    """
    played, program = replay.shown, replay.program
    begin, end = 0, round(played.pass_end - played.pass_begin)
    device, kind = _device_and_kind(program.work_id, kernels, copies)
    busiest = np.bincount(device, weights=program.work_dur).argmax()
    start = np.rint(played.work_start - played.pass_begin).astype(np.int64)
    finish = np.rint(played.work_end - played.pass_begin).astype(np.int64)

    def spans(wanted: str) -> Spans:
        mine = (device == busiest) & (kind == wanted)
        return clip(merge(start[mine], finish[mine]), begin, end)

    compute, communication, copy = spans("compute"), spans("collective"), spans("copy")
    exposed_communication = subtract(communication, compute)
    exposed_copy = subtract(copy, union(compute, communication))
    parts = {
        "compute": float(total(compute)),
        "exposed_communication": float(total(exposed_communication)),
        "exposed_copy": float(total(exposed_copy)),
    }
    idle = gaps(union(compute, communication, copy), begin, end)
    exchanging = blocked_spans(collective_calls, on_host_only=True)
    idle_parts = _idle_by_cause(replay, idle, launches, cpu_ops, input_wait, exchanging)
    parts["exposed_communication"] += idle_parts.pop("idle_exchange")
    parts |= idle_parts
    per_step = {part: value / program.steps for part, value in parts.items()}
    scale = min(1.0, replay.step_ns / played.step_ns)
    per_step = {part: value * scale for part, value in per_step.items()}
    per_step["unexplained"] = max(replay.step_ns - sum(per_step.values()), 0.0)
    return pl.DataFrame({"part": list(per_step), "ns": list(per_step.values())}, schema={c.name: c.dtype for c in COLUMNS})


def _device_and_kind(
    work_id: np.ndarray[tuple[int], np.dtype[np.int64]], kernels: pl.DataFrame, copies: pl.DataFrame | None
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.str_]]]:
    collective = pl.col("kind").cast(pl.String) == "collective"
    known = [kernels.select("id", "device", work=pl.when(collective).then(pl.lit("collective")).otherwise(pl.lit("compute")))]
    if copies is not None:
        known.append(copies.select("id", "device", work=pl.lit("copy")))
    joined = pl.DataFrame({"id": work_id}).join(pl.concat(known), on="id", how="left", maintain_order="left")
    return joined["device"].fill_null(0).to_numpy(), joined["work"].to_numpy()


def _idle_by_cause(
    replay: Replay,
    idle: Spans,
    launches: pl.DataFrame,
    cpu_ops: pl.DataFrame | None,
    input_wait: pl.DataFrame | None,
    exchanging: Spans,
) -> dict[str, float]:
    """Idle time over the window by what the host does in the replay; gaps are split as they were in the recording."""
    played, program = replay.shown, replay.program
    shift = played.pass_begin

    def idle_within(start: object, finish: object) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        bounds = (np.rint(np.asarray(edge) - shift).astype(np.int64) for edge in (start, finish))
        return covered_per_window(idle, *bounds).astype(np.float64)

    in_gap = idle_within(played.gap_begin, played.call_begin)
    in_call = idle_within(played.call_begin, played.call_end)
    waiting = of_frame(input_wait) if input_wait is not None else merge([], [])
    threads = pl.DataFrame(replay.threads, schema=["process", "thread"], orient="row").cast(pl.Categorical)
    calls = [of_frame(launches.join(threads, on=["process", "thread"], how="semi"))]
    if cpu_ops is not None:
        calls.append(of_frame(cpu_ops.filter(pl.col("depth") == 0).join(threads, on=["process", "thread"], how="semi")))
    working = subtract(union(*calls), waiting)
    length = np.maximum(program.call_start - program.gap_start, 1)
    exchanging = subtract(exchanging, union(waiting, working))
    share_exchanging = covered_per_window(exchanging, *program.gap_spans()) / length
    share_waiting = covered_per_window(waiting, *program.gap_spans()) / length
    share_working = covered_per_window(working, *program.gap_spans()) / length
    kind = pl.DataFrame({"id": program.call_id}).join(
        launches.select("id", "blocking"), on="id", how="left", maintain_order="left"
    )
    cause = kind["blocking"].cast(pl.String).fill_null("none").replace_strict(CALL_CAUSE, default="launch").to_numpy()
    parts = {f"idle_{name}": float(in_call[cause == name].sum()) for name in dict.fromkeys(CALL_CAUSE.values())}
    parts["idle_input_wait"] = float((in_gap * share_waiting).sum())
    parts["idle_exchange"] = float((in_gap * share_exchanging).sum())
    parts["idle_launch"] += float((in_gap * share_working).sum())
    parts["idle_other"] = max(float(total(idle)) - sum(parts.values()), 0.0)
    order = ("exchange", "input_wait", "blocking_copy", "synchronisation", "allocation", "launch", "other")
    return {f"idle_{name}": parts[f"idle_{name}"] for name in order}
