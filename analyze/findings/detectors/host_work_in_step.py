"""The host does work of its own inside the step while the device waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.exchanges import host_exchanges
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import place_of
from analyze.findings.saving import digits, replayed
from analyze.intervals import covered_per_window, merge, of_frame, subtract
from analyze.replay.edits import RECORDING_NS, without_host_regions
from analyze.scalars import number, number_or_none

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="host-work-in-step",
    title="Host work inside the step keeps the GPU waiting",
    meaning=(
        "Between two launches the Python thread does something long that is neither loading nor launching: preprocessing, "
        "metrics, logging, writing files. The GPU has nothing to do meanwhile."
    ),
    measured=(
        "Stretches of several milliseconds between launches, less loading, garbage collection and what other findings claim. "
        "Saving: the recorded steps replayed without them; the lower bound leaves a third of that work in the step."
    ),
    fix=(
        Remedy(text="Do it less often", code="if step % 100 == 0:\n    log(metrics)"),
        Remedy(text="Move preprocessing into the dataset, where worker processes do it, or onto the GPU"),
        Remedy(text="Hand it to another thread", code="pool = ThreadPoolExecutor(1)\npool.submit(write, metrics)"),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
)

#: a stretch of launching this long would be unusual even for a large optimizer
MIN_STRETCH_NS = 3_000_000
#: part of the work that may have to stay
CAUTIOUS_LEFT_SHARE = 0.33
#: where only the step log tells of waiting for input, and of at least this share of the stretches, they are that wait
MIN_EXPLAINED_SHARE = 0.5
#: copies to the host from this size on are results being read or a checkpoint, each a finding of its own
MIN_RESULT_BYTES = 256 << 10


def detect(
    replay: Replay,
    host_stretches: pl.DataFrame,
    kernels: pl.DataFrame,
    copy_runs: pl.DataFrame,
    annotations: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
    step_time: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
    collective_calls: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all such stretches of the window."""
    exchanging = host_exchanges(collective_calls, replay)
    bounds = host_stretches["start_ns"], host_stretches["start_ns"] + host_stretches["dur_ns"]
    exchanged = pl.Series(covered_per_window(exchanging, *(edge.to_numpy() for edge in bounds)), dtype=pl.Int64)
    net = pl.col("dur_ns") - pl.col("input_wait_ns") - exchanged - RECORDING_NS * pl.col("events")
    stretches = host_stretches.filter(net >= MIN_STRETCH_NS)
    if stretches.is_empty() or kernels.is_empty():
        return []
    regions = of_frame(stretches)
    # time around long runs of copies to the host belongs to the checkpoint or the results being read
    reading = copy_runs.filter(pl.col("direction") == "device-to-host", pl.col("bytes") >= MIN_RESULT_BYTES)
    around = reading.select(a=pl.coalesce("before_ns", "start_ns"), b=pl.coalesce("after_ns", pl.lit(replay.program.end_ns)))
    taken = [merge(around["a"].to_numpy(), around["b"].to_numpy()), exchanging]
    if input_wait is not None:
        taken.append(of_frame(input_wait))
    if annotations is not None:
        claimed = annotations.filter(pl.col("name").cast(pl.String).str.contains(r"^gc\.collect|^Optimizer\.step#"))
        taken.append(of_frame(claimed))
    for spans in taken:
        regions = subtract(regions, spans)
    if regions[0].size == 0:
        return []
    mean_ns = number((regions[1] - regions[0]).sum()) / replay.program.steps
    if input_wait is None and _logged_wait_ns(step_time) >= MIN_EXPLAINED_SHARE * mean_ns:
        return []
    longest = stretches.row(0, named=True)
    what = longest["annotation"] or ("operators" if longest["operators_ns"] > longest["dur_ns"] / 2 else "plain Python")
    return replayed(
        DETECTOR.id,
        replay,
        without_host_regions(regions),
        cautious=without_host_regions(regions, keep_share=CAUTIOUS_LEFT_SHARE),
        host_side=True,
        message=(
            f"Each step the host spends {digits(mean_ns / 1e6)} ms on work of its own between launches (longest stretch "
            f"{digits(longest['dur_ns'] / 1e6)} ms, {what}); out of the loop it would give back {{saving}}."
        ),
        location=longest["annotation"] or place_of(longest["longest_op_id"], cpu_ops, op_sources),
        evidence=stretches.head(50),
        thresholds={"min_stretch_ns": MIN_STRETCH_NS},
    )


def _logged_wait_ns(step_time: pl.DataFrame | None) -> float:
    """Mean wait for input in the step log; 0 where it does not say."""
    return 0.0 if step_time is None else number_or_none(step_time["input_wait_ns"].mean()) or 0.0
