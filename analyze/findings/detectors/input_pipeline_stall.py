"""The training loop waits for its next batch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.loader_workers import WORKER_EFFICIENCY, added_workers, faster_intervals, fitting_workers
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import REPLAY_SPREAD, digits, modelled, replayed, share_text
from analyze.intervals import of_frame
from analyze.replay.edits import without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.replay import Replay

DETECTOR = Detector(
    id="input-pipeline-stall",
    title="The step waits for its next batch",
    meaning=(
        "The loop asks for a batch that is not ready: reading, decoding or augmenting takes longer than the rest of the "
        "step, and everything else stands still meanwhile."
    ),
    measured=(
        "Time inside the loader's next(), in the step log of unprofiled steps where the run has one, else in the trace. "
        "Saving: the recorded steps replayed without the part of the wait that workers which fit the machine would hide: as "
        "many as it has cores for, twice as many where some run already."
    ),
    fix=(
        Remedy(
            text="Load in worker processes, and keep them alive between epochs",
            code="loader = DataLoader(dataset, ..., num_workers=8, persistent_workers=True, prefetch_factor=4, pin_memory=True)",
        ),
        Remedy(text="Do less per sample: resize or decode once and store the result; move augmentation to the GPU"),
        Remedy(text="Store samples so that they are read in long runs (shards, WebDataset, Parquet) on a fast disk"),
    ),
    doc="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
)

#: batches differ in what loading them takes, by more than host times do
SPREAD = 0.05
#: the wait seen in the profiled steps is trusted to differ from the unprofiled one by no more than this factor
MAX_LOG_RATIO = 3.0
#: waits shorter than this share of the step are the loader's own overhead
MIN_SHARE = 0.03


def detect(
    step_time: pl.DataFrame,
    replay: Replay | None = None,
    input_wait: pl.DataFrame | None = None,
    manifest: dict[str, Any] | None = None,
    loader_pace: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding, replayed where the trace has loader spans, else modelled from the step log.

    Workers that set the pace are waited for every so many steps, which the few recorded ones may have missed.
    """
    logged = step_time.filter(~pl.col("profiled"), pl.col("input_wait_ns").is_not_null())
    wait = None if logged.is_empty() else number(logged["input_wait_ns"].mean())
    if replay is not None and input_wait is not None:
        found = _replayed(replay, input_wait, wait, manifest or {})
        if found or loader_pace is None or not loader_pace["sets_pace"].item():
            return found
    if wait is None:
        raise MissingData("neither the trace nor a step log says how long the loop waited for input")
    step = number(logged["step_ns"].mean())
    fewer, usual = _left_over(step, step - wait, not (manifest or {}).get("workers"), manifest or {})
    return modelled(
        DETECTOR.id,
        step,
        saving_ns=wait * (1 - usual),
        low_ns=wait * (1 - fewer) * (1 - REPLAY_SPREAD),
        high_ns=wait * (1 + REPLAY_SPREAD),
        min_share=MIN_SHARE,
        message=(
            f"The loop waits {digits(wait / 1e6)} ms a step for its batches, as the step log says"
            + (" (the recorded steps hardly met it)" if input_wait is not None else "")
            + "; with input ready it would save {saving}."
        ),
        evidence=logged.select("step", "step_ns", "input_wait_ns")
        .sort("input_wait_ns", descending=True, maintain_order=True)
        .head(50),
        thresholds={"min_share": MIN_SHARE},
        location="the loader's next()",
    )


def _replayed(replay: Replay, input_wait: pl.DataFrame, logged_wait: float | None, manifest: Mapping[str, Any]) -> list[Finding]:
    inside = input_wait.filter(pl.col("step").is_not_null())
    recorded = number(inside["dur_ns"].sum()) / replay.program.steps
    if recorded == 0:
        return []
    itself = bool(inside["loads_itself"].any())
    spans = of_frame(input_wait)
    ready = without_host_regions(spans)
    # the loop's own time, which the device may exceed: then there is less to save, and the replay knows
    waited = replay.host_time_removed_ns(ready)
    fewer, usual = _left_over(replay.step_ns, replay.step_ns - waited, itself, manifest)
    loads = "in the training process itself" if itself else "in workers that do not keep up"
    full = not itself and added_workers(manifest) == 0
    remedy = "no core is left for more workers, and half the work per sample" if full else "more workers"
    found = replayed(
        DETECTOR.id,
        replay,
        without_host_regions(spans, keep_share=usual),
        cautious=without_host_regions(spans, keep_share=fewer),
        optimistic=ready,
        host_side=False,
        spread=SPREAD,
        min_share=MIN_SHARE,
        message=(
            f"The loop waits {digits((logged_wait or recorded) / 1e6)} ms for each batch, loaded {loads}; {remedy} "
            "would give back {saving}."
        ),
        location="the loader's next()",
        evidence=inside.sort("dur_ns", descending=True, maintain_order=True)
        .select("step", "start_ns", "dur_ns", "loads_itself")
        .head(50),
        thresholds={"min_share": MIN_SHARE, "workers": float(fitting_workers(manifest)[1])},
    )
    sized = [_sized(finding, replay, logged_wait, waited) for finding in found]
    return [finding for finding in sized if (finding.step_saving_ns or 0.0) >= MIN_SHARE * replay.step_ns]


def _left_over(step_ns: float, rest_ns: float, itself: bool, manifest: Mapping[str, Any]) -> tuple[float, float]:
    """Shares of the wait that stay, cautious and usual, when loading goes on in other processes while the rest runs.

    A batch takes step - rest to load in the loop, and a worker no less; where workers run already, the step is the pace
    at which they deliver, and more deliver faster as long as there are cores for them.
    """
    wait = step_ns - rest_ns
    paces = (wait / (n * WORKER_EFFICIENCY) for n in fitting_workers(manifest)) if itself else faster_intervals(step_ns, manifest)
    few, usual = (min(max(pace - rest_ns, 0.0) / wait, 1.0) if wait > 0 else 0.0 for pace in paces)
    return few, usual


def _sized(finding: Finding, replay: Replay, logged_wait: float | None, waited: float) -> Finding:
    """Bring the saving to the wait of the unprofiled steps: profiling speeds up nothing that other processes do.

    waited is the replayed wait, of which what recording the loader's own operators costs is taken off already.
    """
    if logged_wait is None or finding.step_saving_ns is None or waited <= 0:
        return finding
    ratio = min(logged_wait / waited, MAX_LOG_RATIO)
    limit = min(replay.step_ns, logged_wait)
    saving = min(finding.step_saving_ns * ratio, limit)
    return replace(
        finding,
        step_saving_ns=saving,
        step_saving_low_ns=min((finding.step_saving_low_ns or 0.0) * ratio, saving),
        step_saving_high_ns=min(max((finding.step_saving_high_ns or saving) * ratio, saving), replay.step_ns),
        message=finding.message.rsplit("give back", 1)[0] + f"give back {share_text(saving, replay.step_ns)}.",
    )
