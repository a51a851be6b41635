"""Large copies back to the host inside the step, and the host's work on them."""

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
    id="device-to-host-copy",
    title="Results are copied to the host inside the step",
    meaning=(
        "Outputs or activations go back to the host while training runs. The copy waits for the GPU to finish, moves the data "
        "slowly into pageable memory, and what the host then does with it keeps the GPU waiting."
    ),
    measured=(
        "Device-to-host copies of some size and the host operators that follow until the next launch. Saving: the recorded "
        "steps replayed without them; the lower bound leaves the host's work and drops only the copy's wait."
    ),
    fix=(
        Remedy(
            text="Reduce on the GPU and keep the small result there",
            code="predictions = logits.argmax(-1)   # not logits.cpu().argmax(-1)",
        ),
        Remedy(text="Copy every nth step, or after the epoch", code="if step % 100 == 0:\n    log(metric.item())"),
        Remedy(
            text="Where the data itself is needed: into pinned memory, without blocking, and read it a step later",
            code="host = torch.empty_like(x, device='cpu', pin_memory=True)\nhost.copy_(x, non_blocking=True)",
        ),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization",
)

#: smaller copies are scalars being read: their cost is the wait, which is another finding
MIN_BYTES = 256 << 10
#: so many copies in a row are a checkpoint or an offload rather than a result being read
MAX_COPIES_IN_RUN = 16


def detect(
    replay: Replay,
    copy_runs: pl.DataFrame,
    copies: pl.DataFrame,
    input_wait: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all large copies to the host in the window."""
    runs = copy_runs.filter(
        pl.col("direction") == "device-to-host",
        pl.col("largest_bytes") >= MIN_BYTES,
        pl.col("count") <= MAX_COPIES_IN_RUN,
        pl.col("step").is_not_null(),
    ).with_columns(until_ns=pl.coalesce("after_ns", pl.lit(replay.program.end_ns)))
    if runs.is_empty():
        return []
    copying = merge(runs["start_ns"].to_numpy(), runs["end_ns"].to_numpy())
    following = merge(runs["start_ns"].to_numpy(), runs["until_ns"].to_numpy())
    if input_wait is not None:
        following = subtract(following, of_frame(input_wait))
    moved = number(runs["bytes"].sum())
    rate = moved / max(number(runs["dur_ns"].sum()), 1.0)
    copy_ms = number(runs["dur_ns"].sum()) / replay.program.steps / 1e6
    after_ms = number((runs["until_ns"] - runs["end_ns"]).sum()) / replay.program.steps / 1e6
    return replayed(
        DETECTOR.id,
        replay,
        without_host_regions(following),
        cautious=without_host_regions(copying),
        host_side=False,
        message=(
            f"{digits(moved / replay.program.steps / 1e6)} MB a step go to the host at {rate:.2g} GB/s "
            f"({digits(copy_ms)} ms), and the host then works {digits(after_ms)} ms before it launches again; kept on the "
            "GPU this would "
            "give back {saving}."
        ),
        location=place_of_copy(
            runs.sort("bytes", descending=True, maintain_order=True)["first_copy_id"][0], copies, cpu_ops, op_sources
        ),
        evidence=runs_with_places(runs.sort("bytes", descending=True, maintain_order=True).head(50), copies, cpu_ops, op_sources),
        thresholds={"min_bytes": MIN_BYTES, "max_copies_in_run": MAX_COPIES_IN_RUN},
    )
