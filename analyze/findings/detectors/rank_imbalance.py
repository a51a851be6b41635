"""Ranks have unequal amounts of work, so that the step is as long as the fullest one's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.joint_saving import jointly_replayed
from analyze.findings.model import Detector, Finding, Remedy
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay
    from analyze.replay.joint_replay import JointReplay

DETECTOR = Detector(
    id="rank-imbalance",
    title="Ranks have unequal amounts of work",
    meaning=(
        "One rank computes longer than the others: longer sequences, more samples, more tokens for its experts, a heavier "
        "pipeline stage. The others wait for it in the next collective. Spread evenly, the same work would take less time."
    ),
    measured=(
        "Time that each rank's device (on a CPU, its operators) computes in each step; the difference must clear the noise of "
        "the steps. Saving: all ranks replayed together, each with the mean of all ranks' compute time in that step."
    ),
    fix=(
        Remedy(
            text="Give every rank batches of equal size: sort or bucket by length, and pack by tokens rather than by samples",
            code="sampler = torch.utils.data.distributed.DistributedSampler(dataset, shuffle=True, drop_last=True)",
        ),
        Remedy(text="With experts: a balancing loss or a capacity limit; with a pipeline: move layers from the slow stage"),
        Remedy(text="With unlike devices: batches in proportion to what each can do"),
    ),
    doc="https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler",
)

#: a device whose clock is this share of the others' is slower, not busier: straggler-rank
SLOW_CLOCK_RATIO = 0.95
#: ranks that take turns in being the fullest: how far the fullest must lie above the mean, as a share of the step
TURNS_STEP_SHARE = 0.05
#: a rank runs more kernels than the others if it runs this many times as many
MORE_KERNELS_RATIO = 1.02


def detect(
    lateness: pl.DataFrame,
    rank_steps: pl.DataFrame,
    joint_replay: JointReplay,
    rank_pace: pl.DataFrame | None = None,
    rank_states: pl.DataFrame | None = None,
    replay: Replay | None = None,
) -> list[Finding]:
    """One finding: a rank that always has more, or ranks that take turns."""
    if rank_steps["compute_ns"].sum() == 0:
        raise MissingData("the recording does not show how long each rank computes")
    slow = [] if rank_states is None else rank_states.filter(pl.col("clock_ratio") < SLOW_CLOCK_RATIO)["rank"].to_list()
    always = lateness.filter("significant", pl.col("cause") == "compute", ~pl.col("rank").is_in(slow))
    on_device = rank_states is not None
    if always.is_empty() and not (on_device and not slow and _take_turns(rank_steps)):
        return []
    step_sure = always.is_empty() or always["noise_ns"][0] is not None
    return jointly_replayed(
        DETECTOR.id,
        joint_replay,
        joint_replay.saving(joint_replay.balanced("compute_ns")),
        replay=replay,
        certainty=0.9 if step_sure else 0.7,
        message=_turns(rank_steps) if always.is_empty() else _always(always, rank_steps, rank_pace),
        rank=None if always.is_empty() else int(always["rank"][0]),
        location="every rank in turn" if always.is_empty() else f"rank {always['rank'][0]}",
        evidence=rank_steps.select("step", "rank", "own_ns", "compute_ns", "blocked_ns", "behind_ns").head(200),
        thresholds={"turns_step_share": TURNS_STEP_SHARE, "slow_clock_ratio": SLOW_CLOCK_RATIO},
    )


def _take_turns(rank_steps: pl.DataFrame) -> bool:
    return _above_mean(rank_steps) > TURNS_STEP_SHARE * number(rank_steps["step_ns"].mean())


def _above_mean(rank_steps: pl.DataFrame) -> float:
    """How far the fullest rank lies above the mean, averaged over steps."""
    each = rank_steps.group_by("step", maintain_order=True).agg(over=pl.col("compute_ns").max() - pl.col("compute_ns").mean())
    return number(each["over"].mean())


def _turns(rank_steps: pl.DataFrame) -> str:
    return (
        f"In every step some rank computes {_above_mean(rank_steps) / 1e6:.3g} ms longer than the mean of all, not always the "
        "same one; spread evenly, the same work would save {saving}."
    )


def _always(always: pl.DataFrame, rank_steps: pl.DataFrame, rank_pace: pl.DataFrame | None) -> str:
    rank = int(always["rank"][0])
    mine = number(rank_steps.filter(pl.col("rank") == rank)["compute_ns"].mean())
    others = number(rank_steps.filter(pl.col("rank") != rank)["compute_ns"].median())
    return (
        f"Rank {rank} computes {mine / 1e6:.3g} ms a step where the others compute {others / 1e6:.3g}{_why(rank, rank_pace)}; "
        "spread evenly, the same work would save {saving}."
    )


def _why(rank: int, rank_pace: pl.DataFrame | None) -> str:
    """What its kernels tell: more of them, or larger ones."""
    row = None if rank_pace is None else next(iter(rank_pace.filter(pl.col("rank") == rank).to_dicts()), None)
    if row is None:
        return ""
    if row["count_ratio"] >= MORE_KERNELS_RATIO:
        return f", with {row['count_ratio'] - 1:.0%} more kernels"
    return f", with the same kernels taking {max(row['pace_ratio'] - 1, 0):.0%} longer: larger inputs, or a slower device"
