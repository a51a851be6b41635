"""What do our analyses say to the same questions, over the same stretch of the trace?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses.activity_overlap import activity_overlap
from analyze.analyses.communication_overlap import communication_overlap
from analyze.analyses.idle_by_cause import SPACING_NS, idle_by_cause
from analyze.analyses.kernel_breakdown import kernel_breakdown
from analyze.analyses.launch_delay import launch_delay
from analyze.analyses.temporal_breakdown import temporal_breakdown
from analyze.crosscheck.figure import Figure
from analyze.errors import MissingData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.crosscheck.view import View

US = 1_000
#: our names of why a stream idles, in HTA's words
IDLE = {"late_launch": "host_wait", "spacing": "kernel_wait", "dependency": "other", "unknown": "other"}
#: calls that HTA 0.5.0 knows to start work: for its launch statistics, and for its queues
KNOWN_LAUNCHES = (
    "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync",
    "runFunction - job_prep_and_submit_for_execution",
)  # fmt: skip
KNOWN_QUEUED = (
    *KNOWN_LAUNCHES, "cuLaunchKernel", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemcpyAsync", "hipMemcpyWithStream",
    "hipMemsetAsync",
)  # fmt: skip
#: GB/s below which a sum of rates is nothing but what rounding left
ZERO_RATE = 1e-6
SHORT_COPY_NAME = r"^(Memset|Memcpy .{4})"


def our_figures(view: View) -> list[Figure]:
    """Figures in microseconds unless the unit says otherwise, several devices added up."""
    found: list[Figure] = []
    for answer in (_temporal, _overlap, _kernel_types, _kernels, _idle, _launches, _queues, _bandwidth, _annotations):
        try:
            found += answer(view)
        except MissingData:
            continue
    return found


def _tables(view: View, *, with_other: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Kernels and copies as the analyses take them; what is neither is busy all the same."""
    nothing = pl.lit(None, dtype=pl.Int64)
    work = view.work.with_columns(
        kind=pl.when(pl.col("role") == "communication").then(pl.lit("collective")).otherwise(pl.lit("elementwise")),
        step=nothing,
        op_id=nothing,
    ).with_columns(pl.col("kind").cast(pl.Categorical))
    beside = ["copy", "other"] if with_other else ["copy"]
    kernels = work.filter(pl.col("role").is_in(["compute", "communication"]))
    return kernels, work.filter(pl.col("role").is_in(beside))


def _temporal(view: View) -> Iterator[Figure]:
    kernels, copies = _tables(view, with_other=True)
    if kernels.is_empty() and copies.is_empty():
        return
    if view.inverted_spans_count:
        work = pl.concat([kernels, copies])
        span, busy = _merged(work)
        compute = _merged(work.filter(pl.col("role") == "compute"))[1]
    else:
        parts = temporal_breakdown(kernels, copies).select(pl.col("*").exclude("device", "step").sum()).row(0, named=True)
        span, busy, compute = parts["span_ns"], parts["span_ns"] - parts["idle_ns"], parts["compute_ns"]
    times = {"idle": span - busy, "compute": compute, "non_compute": busy - compute, "kernel": span}
    for name, ns in times.items():
        yield Figure("temporal breakdown", f"{name}_time", ns / US, "us")


def _merged(work: pl.DataFrame) -> tuple[int, int]:
    """Span and union by HTA's merging, in which a span that ends before it starts takes time away."""
    ordered = work.sort("start_ns").with_columns(end=pl.col("start_ns") + pl.col("dur_ns"))
    apart = (pl.col("start_ns") > pl.col("end").shift(1).cum_max()).fill_null(value=False).cum_sum()
    groups = ordered.group_by(group=apart, maintain_order=True).agg(pl.col("start_ns").min(), pl.col("end").max())
    if groups.is_empty():
        return 0, 0
    return groups["end"][-1] - groups["start_ns"][0], int((groups["end"] - groups["start_ns"]).sum())


def _overlap(view: View) -> Iterator[Figure]:
    kernels, _ = _tables(view, with_other=False)
    totals = communication_overlap(kernels).select(pl.col("overlap_ns", "communication_ns").sum()).row(0)
    yield Figure("communication overlap", "hidden", 100 * totals[0] / totals[1], "%")


def _kernel_types(view: View) -> Iterator[Figure]:
    activities = activity_overlap(*_tables(view, with_other=False)).group_by("activity").agg(pl.col("total_ns").sum())
    for name, ns in activities.sort("activity").rows():
        yield Figure("kernel types", name, ns / US, "us")


def _kernels(view: View) -> Iterator[Figure]:
    kernels, copies = _tables(view, with_other=False)
    names = kernel_breakdown(pl.concat([kernels, copies]))
    by_name = names.group_by("name").agg(pl.col("total_ns").sum(), pl.col("max_ns").max())
    for name, total, longest in by_name.sort("total_ns", descending=True).rows():
        yield Figure("kernel total", name, total / US, "us")
        yield Figure("kernel longest", name, longest / US, "us")


def _idle(view: View) -> Iterator[Figure]:
    kernels, copies = _tables(view, with_other=True)
    if view.gaps_from_previous_row:
        found = _idle_from_previous_row(pl.concat([kernels, copies]).sort("start_ns"), view.launches)
    else:
        causes = idle_by_cause(kernels, copies, view.launches).drop_nulls("stream")
        found = causes.select("stream", pl.col("cause").replace_strict(IDLE), "idle_ns")
    for stream, cause, ns in found.group_by("stream", "cause").agg(pl.col("idle_ns").sum()).sort("stream", "cause").rows():
        yield Figure("idle by stream", f"stream {stream} {cause}", ns / US, "us")


def _idle_from_previous_row(work: pl.DataFrame, launches: pl.DataFrame) -> pl.DataFrame:
    """HTA's rule: gaps begin at the end of the row before, even where an earlier one runs longer, and may be negative."""
    launched = launches.select(launch_id="id", launched_ns="start_ns")
    previous = (pl.col("start_ns") + pl.col("dur_ns")).shift(1).over("stream")
    gap = pl.col("start_ns") - pl.col("previous")
    cause = (
        pl.when(pl.col("launched_ns") > pl.col("previous"))
        .then(pl.lit("host_wait"))
        .when(gap < SPACING_NS)
        .then(pl.lit("kernel_wait"))
        .otherwise(pl.lit("other"))
    )
    return (
        work.join(launched, on="launch_id", how="left", maintain_order="left")
        .with_columns(previous=previous)
        .drop_nulls("previous")
        .select("stream", cause=cause, idle_ns=gap)
    )


def _launches(view: View) -> Iterator[Figure]:
    known = view.launches
    if view.known_launches_only:
        known = known.filter(pl.col("name").cast(pl.String).is_in(KNOWN_LAUNCHES))
    delays = launch_delay(known, *_tables(view, with_other=True))
    yield Figure("launches", "count", float(delays.height), "")
    for column, name in (("call_ns", "calls"), ("work_ns", "work"), ("delay_ns", "delay")):
        yield Figure("launches", name, float(delays[column].sum()) / US, "us")


def _queues(view: View) -> Iterator[Figure]:
    """Every launch and every start is a change, as HTA counts them; our own summary weights by time instead."""
    for stream, count, mean, longest in _queue_changes(view, launches_first=True).rows():
        yield Figure("queue length", f"stream {stream} changes", float(count), "")
        yield Figure("queue length", f"stream {stream} mean", mean, "")
        yield Figure("queue length", f"stream {stream} longest", float(longest), "")


def queue_bounds(view: View) -> dict[str, tuple[float, float]]:
    """Lowest and highest mean and length of each stream's queue, over all orders of what happens at the same time."""
    low, high = (_queue_changes(view, launches_first=first).rows() for first in (False, True))
    bounds = {}
    for (stream, _, low_mean, low_longest), (*_, high_mean, high_longest) in zip(low, high, strict=True):
        bounds[f"stream {stream} mean"] = (low_mean, high_mean)
        bounds[f"stream {stream} longest"] = (float(low_longest), float(high_longest))
    return bounds


def _queue_changes(view: View, *, launches_first: bool) -> pl.DataFrame:
    """Columns stream, len, mean, max of the queue's length after each change."""
    known = view.launches
    if view.known_launches_only:
        known = known.filter(pl.col("name").cast(pl.String).is_in(KNOWN_QUEUED))
    linked = view.work.join(known.select(launch_id="id", launched_ns="start_ns"), on="launch_id")
    changes = pl.concat(
        [
            linked.select("stream", time_ns="launched_ns", change=pl.lit(1)),
            linked.select("stream", time_ns="start_ns", change=pl.lit(-1)),
        ]
    ).sort("stream", "time_ns", "change", descending=[False, False, launches_first])
    lengths = changes.with_columns(length=pl.col("change").cum_sum().over("stream"))
    summary = lengths.group_by("stream").agg(pl.len(), pl.col("length").mean().alias("mean"), pl.col("length").max().alias("max"))
    return summary.sort("stream")


def _bandwidth(view: View) -> Iterator[Figure]:
    """Mean over changes of the summed rate of the copies under way, as HTA has it; copy_bandwidth weights by bytes."""
    for name, mean in _mean_rates(view, ends_first=True, residue=ZERO_RATE).rows():
        yield Figure("copy bandwidth", name, mean, "GB/s")


def rate_bounds(view: View) -> dict[str, tuple[float, float]]:
    """Lowest and highest mean rate, over orders of simultaneous changes, and with what sums of floats leave above 0."""
    found = pl.concat(
        [_mean_rates(view, ends_first=first, residue=residue) for first in (True, False) for residue in (ZERO_RATE, 0.0)]
    )
    bounds = found.group_by("short").agg(low=pl.col("rate").min(), high=pl.col("rate").max())
    return {name: (low, high) for name, low, high in bounds.rows()}


def _mean_rates(view: View, *, ends_first: bool, residue: float) -> pl.DataFrame:
    """Columns short, rate (GB/s)."""
    short = pl.col("name").cast(pl.String).str.extract(SHORT_COPY_NAME)
    # a copy that rounding left without a duration lasts a microsecond
    dur = pl.when(pl.col("dur_ns") == 0).then(US).otherwise(pl.col("dur_ns"))
    copies = view.work.with_columns(short=short, dur_ns=dur, rate="bytes_per_ns").drop_nulls(["short", "rate"])
    changes = pl.concat(
        [
            copies.select("short", time_ns="start_ns", change="rate"),
            copies.select("short", time_ns=pl.col("start_ns") + pl.col("dur_ns"), change=-pl.col("rate")),
        ]
    ).sort("short", "time_ns", "change", descending=[False, False, not ends_first])
    under_way = changes.with_columns(rate=pl.col("change").cum_sum().over("short"))
    positive = under_way.filter(pl.col("rate") > residue)
    return positive.group_by("short").agg(pl.col("rate").mean()).sort("short")


def _annotations(view: View) -> Iterator[Figure]:
    totals = view.annotations.group_by("name").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)
    for name, ns in totals.rows():
        yield Figure("device annotations", name, ns / US, "us")
