"""Parameters are written to disk between steps while everything waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import place_of_copy, runs_with_places
from analyze.findings.saving import digits, replayed
from analyze.intervals import merge, of_frame, subtract
from analyze.replay.edits import without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="checkpoint-in-step",
    title="Saving a checkpoint stops the training loop",
    meaning=(
        "The whole state goes to the host tensor by tensor and into a file, in the training loop, and the GPU waits until the "
        "file is written. Done often, it costs more than the training it protects."
    ),
    measured=(
        "Long runs of device-to-host copies with host time between them (serialising, writing). Saving: the recorded steps "
        "replayed without the run and the host time around it, averaged over the window; a checkpoint seen in one step of "
        "several is reported per occurrence, without a saving per step."
    ),
    fix=(
        Remedy(text="Save less often", code="if step % 1000 == 0:\n    torch.save(state, path)"),
        Remedy(
            text="Copy to pinned memory and write from another thread",
            code="torch.distributed.checkpoint.async_save(state_dict, checkpoint_id=path)",
        ),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/distributed_async_checkpoint_recipe.html",
)

#: fewer tensors in a row are results being read
MIN_TENSORS = 17
#: the copies themselves are only this share of the time between first and last, at most: the rest is serialising and writing
MAX_COPY_SHARE = 0.5


def detect(
    replay: Replay,
    copy_runs: pl.DataFrame,
    copies: pl.DataFrame,
    steps: pl.DataFrame,
    input_wait: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One saving where steps of the window keep saving, a note where one of several did."""
    program = replay.program
    runs = copy_runs.filter(
        pl.col("direction") == "device-to-host",
        pl.col("count") >= MIN_TENSORS,
        # the first copy may wait for the device: it says nothing about writing
        pl.col("dur_ns") < MAX_COPY_SHARE * (pl.col("end_ns") - pl.col("first_end_ns")),
        pl.col("step").is_not_null(),
    ).with_columns(
        from_ns=pl.coalesce("before_ns", pl.lit(program.start_ns)), until_ns=pl.coalesce("after_ns", pl.lit(program.end_ns))
    )
    if runs.is_empty():
        return []
    around = merge(runs["from_ns"].to_numpy(), runs["until_ns"].to_numpy())
    if input_wait is not None:
        around = subtract(around, of_frame(input_wait))
    between = merge(runs["start_ns"].to_numpy(), runs["end_ns"].to_numpy())
    tensors, moved = number(runs["count"].mean()), number(runs["bytes"].mean())
    each_ms = number((runs["until_ns"] - runs["from_ns"]).mean()) / 1e6
    evidence = runs_with_places(runs.head(50), copies, cpu_ops, op_sources)
    location = place_of_copy(runs["first_copy_id"][0], copies, cpu_ops, op_sources)
    what = f"{tensors:,.0f} tensors ({digits(moved / 1e6)} MB) go to the host and into a file in {digits(each_ms)} ms"
    if runs["step"].n_unique() == 1 and steps.height > 1:
        message = f"In one of {steps.height} recorded steps {what}; divide by how often that happens."
        return [Finding(detector=DETECTOR.id, kind="note", message=message, confidence=0.8, location=location, evidence=evidence)]
    return replayed(
        DETECTOR.id,
        replay,
        without_host_regions(around),
        cautious=without_host_regions(between),
        host_side=False,
        message=(
            f"{what}, in {runs['step'].n_unique()} of {steps.height} recorded steps; saved rarely or elsewhere it would give "
            "back {saving}."
        ),
        location=location,
        evidence=evidence,
        thresholds={"min_tensors": MIN_TENSORS, "max_copy_share": MAX_COPY_SHARE},
    )
