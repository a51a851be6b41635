"""Device memory is allocated and freed by the driver inside steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import busiest_place, with_places
from analyze.findings.saving import digits, replayed
from analyze.replay.edits import without_calls
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="allocator-churn",
    title="Device memory is allocated and freed inside steps",
    meaning=(
        "PyTorch keeps freed memory for reuse, so a settled loop never asks the driver. Here it does: every cudaFree waits for "
        "the GPU to finish, every cudaMalloc takes the host long. Usual causes: empty_cache() in the loop, memory so full that "
        "cached blocks are returned and asked for again, or shapes that change from step to step."
    ),
    measured=(
        "Allocation and free calls of the driver within steps. Saving: the recorded steps replayed without these calls and "
        "their waits."
    ),
    fix=(
        Remedy(text="Take empty_cache() out of the loop", code="# torch.cuda.empty_cache()"),
        Remedy(
            text="Let segments grow instead of being returned",
            code="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True python train.py",
        ),
        Remedy(text="Pad or bucket inputs so that shapes repeat; lower the batch size if memory is full"),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-memory-management",
)

#: a settled loop makes none; one or two in a window are a first use
MIN_CALLS_PER_STEP = 1.0


def detect(
    replay: Replay,
    launches: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for the driver's allocations and frees in the window."""
    in_window = launches.filter(
        pl.col("blocking").cast(pl.String).is_in(["allocation", "free"]), pl.col("id").is_in(replay.program.call_id.tolist())
    )
    per_step = in_window.height / replay.program.steps
    if per_step < MIN_CALLS_PER_STEP or in_window["step"].n_unique() < min(2, replay.program.steps):
        return []
    spent_ms = number(in_window["dur_ns"].sum()) / replay.program.steps / 1e6
    frees = in_window.filter(pl.col("blocking").cast(pl.String) == "free").height / replay.program.steps
    return replayed(
        DETECTOR.id,
        replay,
        without_calls(in_window["id"].to_numpy()),
        host_side=False,
        message=(
            f"{digits(per_step - frees)} allocations and {digits(frees)} frees a step go to the driver ({digits(spent_ms)} "
            "ms in the calls); "
            "served from the cache they would give back {saving}."
        ),
        location=busiest_place(in_window["op_id"], cpu_ops, op_sources),
        evidence=with_places(
            in_window.sort("dur_ns", descending=True, maintain_order=True)
            .select("step", "name", "start_ns", "dur_ns", "op_id")
            .head(50),
            cpu_ops,
            op_sources,
        ),
        thresholds={"min_calls_per_step": MIN_CALLS_PER_STEP},
    )
