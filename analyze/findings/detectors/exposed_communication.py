"""The device stands still for communication that nothing hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.findings.joint_saving import jointly_replayed
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import modelled, ms_text
from analyze.replay import Saving
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay
    from analyze.replay.joint import JointReplay

DETECTOR = Detector(
    id="exposed-communication",
    title="Communication is not hidden behind computation",
    meaning=(
        "Collectives run while the device has nothing else to do. Part of that is moving bytes, which smaller messages or better "
        "overlap make cheaper; the rest is waiting for ranks that come late, which no faster network helps."
    ),
    measured=(
        "Time in which only collectives ran and the next work waited for them, split into transfer (from the last rank's "
        "arrival) and waiting. With one rank's trace alone, the fastest call of the same kind, group and size bounds the "
        "transfer. Saving: the transfers halved, as gradients in half precision would; the upper bound is all of them hidden."
    ),
    fix=(
        Remedy(
            text="Let gradients travel while the backward pass goes on: DDP does, with buckets of a good size",
            code="model = DistributedDataParallel(model, bucket_cap_mb=50, gradient_as_bucket_view=True, static_graph=True)",
        ),
        Remedy(
            text="Send gradients in half precision",
            code=(
                "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
                "model.register_comm_hook(state=None, hook=default_hooks.bf16_compress_hook)"
            ),
        ),
        Remedy(
            text="Synchronise only at the last of several accumulated batches",
            code="with model.no_sync():\n    model(batch).backward()",
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/ddp.html",
)

#: half precision, or overlap of half of it, is what a change of a few lines usually reaches
LEFT_SHARE = 0.5
#: a cautious view of the same
CAUTIOUS_LEFT_SHARE = 0.8
#: waiting above this multiple of the transfer is the larger problem, and said first
WAIT_FACTOR = 2.0


def detect(
    collective_calls: pl.DataFrame,
    step_time: pl.DataFrame,
    joint_replay: JointReplay | None = None,
    rank_steps: pl.DataFrame | None = None,
    lateness: pl.DataFrame | None = None,
    replay: Replay | None = None,
) -> list[Finding]:
    """One finding about the transfer; the message says how much is waiting."""
    if joint_replay is not None and rank_steps is not None and lateness is not None:
        return _of_all(joint_replay, rank_steps, lateness, replay)
    return _of_one(collective_calls, step_time, replay)


def _of_all(joint_replay: JointReplay, rank_steps: pl.DataFrame, lateness: pl.DataFrame, replay: Replay | None) -> list[Finding]:
    blocked, waits = number(rank_steps["blocked_ns"].mean()), number(lateness["waits_ns"].fill_null(0.0).mean())
    waiting = min(waits, blocked)
    halved = joint_replay.saving(transfer=joint_replay.transfer * LEFT_SHARE)
    least = joint_replay.saving(transfer=joint_replay.transfer * CAUTIOUS_LEFT_SHARE)
    most = joint_replay.saving(transfer=np.zeros_like(joint_replay.transfer))
    first = "most of it waiting for ranks that come late" if waiting > WAIT_FACTOR * (blocked - waiting) else "of which"
    return jointly_replayed(
        DETECTOR.id,
        joint_replay,
        Saving(halved.ns, least.low_ns, most.high_ns),
        replay=replay,
        basis="modelled",
        message=(
            f"Collectives hold a rank up for {ms_text(blocked)} ms a step, {first}: {ms_text(waiting)} ms waiting, "
            f"{ms_text(blocked - waiting)} ms transfer; half the transfer would give back {{saving}}."
        ),
        location="collectives",
        evidence=rank_steps.select("step", "rank", "step_ns", "blocked_ns", "own_ns").head(200),
        thresholds={"left_share": LEFT_SHARE},
    )


def _of_one(collective_calls: pl.DataFrame, step_time: pl.DataFrame, replay: Replay | None) -> list[Finding]:
    """One rank cannot tell waiting from transfer; the fastest call of its kind bounds the transfer."""
    same = ["group", "kind", "bytes"]
    split = collective_calls.with_columns(transfer_ns=pl.min_horizontal("blocked_ns", pl.col("dur_ns").min().over(same)))
    steps = max(collective_calls["step"].n_unique(), 1)
    profiled = number(step_time.filter("profiled")["step_ns"].mean())
    step_ns = replay.step_ns if replay is not None else profiled
    blocked, transfer = (number(split[name].sum()) / steps for name in ("blocked_ns", "transfer_ns"))
    worst = split.sort("blocked_ns", descending=True, maintain_order=True)
    return modelled(
        DETECTOR.id,
        step_ns,
        saving_ns=transfer * (1 - LEFT_SHARE),
        low_ns=0.0,
        high_ns=transfer,
        message=(
            f"Collectives hold this rank up for {ms_text(blocked)} ms a step: {ms_text(transfer)} ms at most are transfer, "
            f"{ms_text(blocked - transfer)} ms waiting or contention (send the other ranks to tell them apart); half the "
            "transfer would give back {saving}."
        ),
        location=f"{worst['kind'][0]} {worst['group'][0] or ''}".strip() if worst.height else None,
        evidence=worst.select("step", "kind", "group", "bytes", "start_ns", "dur_ns", "blocked_ns", "transfer_ns").head(50),
        thresholds={"left_share": LEFT_SHARE},
    )
