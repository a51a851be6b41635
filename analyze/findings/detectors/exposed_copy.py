"""Copies from pinned memory run at full speed, but the step waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import place_of, with_places
from analyze.findings.saving import digits, replayed
from analyze.intervals import of_frame, subtract, total
from analyze.replay.edits import without_work
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="exposed-copy",
    title="The step waits for copies that could run beside it",
    meaning=(
        "Inputs come from pinned memory at link speed, but on the stream that computes, so the kernels queue behind them. "
        "Copied one step ahead on a stream of their own they would cost nothing."
    ),
    measured=(
        "Time of pinned host-to-device copies during which no kernel runs. Saving: the recorded steps replayed with these "
        "copies off the computing stream; the copy engine works beside the kernels."
    ),
    fix=(
        Remedy(
            text="Prefetch the next batch on a side stream while this one trains",
            code=(
                "side = torch.cuda.Stream()\nwith torch.cuda.stream(side):\n    next_x = x.to(device, non_blocking=True)\n"
                "torch.cuda.current_stream().wait_stream(side)   # before it is used"
            ),
        ),
        Remedy(text="Send fewer bytes: uint8 images, normalised on the GPU", code="x = x.to(device).float().div_(255)"),
    ),
    doc="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
)

#: share of the hidden time that a prefetch may still cost where copies and kernels compete for memory
CAUTIOUS_SPREAD = 0.3


def detect(
    replay: Replay,
    copies: pl.DataFrame,
    kernels: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for the pinned host-to-device copies of the window."""
    program = replay.program
    pinned = copies.filter(
        pl.col("direction") == "host-to-device",
        pl.col("host_memory") == "pinned",
        ~pl.col("for_exchange").fill_null(value=False),
        pl.col("id").is_in(program.work_id.tolist()),
    ).drop_nulls("bytes")
    if pinned.is_empty():
        return []
    bare = total(subtract(of_frame(pinned), of_frame(kernels)))
    largest = pinned.sort("bytes", descending=True, maintain_order=True).row(0, named=True)
    moved = number(pinned["bytes"].sum())
    rate = moved / max(number(pinned["dur_ns"].sum()), 1.0)
    return replayed(
        DETECTOR.id,
        replay,
        without_work(pinned["id"].to_numpy()),
        host_side=False,
        spread=CAUTIOUS_SPREAD,
        message=(
            f"{digits(moved / program.steps / 1e6)} MB a step come from pinned memory at {rate:.2g} GB/s on a "
            f"stream that computes ({digits(bare / program.steps / 1e6)} ms with no kernel beside them); copied a step "
            "ahead they "
            "would give back {saving}."
        ),
        location=place_of(largest["op_id"], cpu_ops, op_sources),
        evidence=with_places(
            pinned.sort("dur_ns", descending=True, maintain_order=True)
            .select("step", "device", "stream", "start_ns", "dur_ns", "bytes", "op_id")
            .head(50),
            cpu_ops,
            op_sources,
        ),
    )
