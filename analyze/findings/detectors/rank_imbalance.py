"""Ranks have unequal amounts of work, so that the step is as long as the fullest one's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.errors import MissingData
from analyze.findings.joint_saving import jointly_replayed
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import MIN_STEP_SHARE, digits, ms_text
from analyze.findings.shared_device import shares_device
from analyze.scalars import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.replay import Replay
    from analyze.replay.joint import JointReplay

DETECTOR = Detector(
    id="rank-imbalance",
    title="Ranks have unequal amounts of work",
    meaning=(
        "One rank computes longer than the others: longer sequences, more samples, more tokens for its experts, a heavier "
        "pipeline stage. The others wait for it in the next collective. Spread evenly, the same work would take less time."
    ),
    measured=(
        "Time that each rank's device (on a CPU, its operators) computes in each step. Where shapes were recorded they tell who "
        "has more work, and equal work that takes one rank longer is none of this; else the difference must clear the noise of "
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
#: and has more work if its operators' shapes hold this many times as much
MORE_WORK_RATIO = 1.05
#: shapes are of one step or a few: a rank that always has more also computes longer in this share of the steps
LONGER_STEPS_SHARE = 0.8


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
    always = _always_more(lateness, rank_steps, rank_pace).filter(~pl.col("rank").is_in(slow))
    on_device = rank_states is not None
    if always.is_empty() and not (on_device and not slow and _take_turns(rank_steps)):
        return []
    step_sure = always.is_empty() or always["noise_ns"][0] is not None
    saving = joint_replay.saving(joint_replay.balanced("compute_ns"))
    fields: dict[str, Any] = {
        "rank": None if always.is_empty() else int(always["rank"][0]),
        "location": "every rank in turn" if always.is_empty() else f"rank {always['rank'][0]}",
        "evidence": rank_steps.select("step", "rank", "own_ns", "compute_ns", "blocked_ns", "behind_ns").head(200),
        "thresholds": {
            "turns_step_share": TURNS_STEP_SHARE,
            "slow_clock_ratio": SLOW_CLOCK_RATIO,
            "more_work_ratio": MORE_WORK_RATIO,
        },
    }
    shared = always.height > 0 and shares_device(int(always["rank"][0]), rank_states)
    if shared and saving.ns < MIN_STEP_SHARE * joint_replay.step_ns:
        return [_for_nothing(always, joint_replay, rank_pace, fields)]
    return jointly_replayed(
        DETECTOR.id,
        joint_replay,
        saving,
        replay=replay,
        certainty=0.9 if step_sure else 0.7,
        message=_turns(rank_steps) if always.is_empty() else _always(always, rank_steps, rank_pace),
        **fields,
    )


def _for_nothing(
    always: pl.DataFrame, joint_replay: JointReplay, rank_pace: pl.DataFrame | None, fields: Mapping[str, Any]
) -> Finding:
    """A note: a device that ranks share has as much to do however the work is spread over them."""
    rank = int(always["rank"][0])
    work = joint_replay.device_work_ns().mean(axis=1)
    place = joint_replay.ranks.index(rank)
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=(
            f"Rank {rank}'s kernels take {ms_text(work[place])} ms a step by themselves where the others' take "
            f"{ms_text(np.median(np.delete(work, place)))}{_why(rank, rank_pace)}; but it shares its GPU with another rank, "
            "which has as much to do however the work is spread: evening it out would give back nothing."
        ),
        confidence=0.9,
        severity=Severity.LOW,
        **fields,
    )


def _always_more(lateness: pl.DataFrame, rank_steps: pl.DataFrame, rank_pace: pl.DataFrame | None) -> pl.DataFrame:
    """Ranks with more work by their shapes, however the steps vary; where shapes are unknown, those that compute longer."""
    work = pl.DataFrame(schema={"rank": pl.Int64, "work_ratio": pl.Float64})
    work = work if rank_pace is None else rank_pace.select("rank", "work_ratio")
    above = pl.col("compute_ns") > pl.col("compute_ns").mean().over("step")
    often = rank_steps.select("rank", above=above).group_by("rank").agg(pl.col("above").mean())
    known = lateness.join(work, on="rank", how="left", maintain_order="left").join(often, on="rank", maintain_order="left")
    longer = pl.col("significant") & (pl.col("cause") == "compute")
    more = (pl.col("work_ratio") >= MORE_WORK_RATIO) & (pl.col("above") >= LONGER_STEPS_SHARE)
    found = known.filter(pl.when(pl.col("work_ratio").is_null()).then(longer).otherwise(more))
    return found.sort("work_ratio", descending=True, nulls_last=True, maintain_order=True)


def _take_turns(rank_steps: pl.DataFrame) -> bool:
    return _above_mean(rank_steps) > TURNS_STEP_SHARE * number(rank_steps["step_ns"].mean())


def _above_mean(rank_steps: pl.DataFrame) -> float:
    """How far the fullest rank lies above the mean, averaged over steps."""
    each = rank_steps.group_by("step", maintain_order=True).agg(over=pl.col("compute_ns").max() - pl.col("compute_ns").mean())
    return number(each["over"].mean())


def _turns(rank_steps: pl.DataFrame) -> str:
    return (
        f"In every step some rank computes {ms_text(_above_mean(rank_steps))} ms longer than the mean of all, not always the "
        "same one; spread evenly, the same work would save {saving}."
    )


def _always(always: pl.DataFrame, rank_steps: pl.DataFrame, rank_pace: pl.DataFrame | None) -> str:
    rank = int(always["rank"][0])
    mine = number(rank_steps.filter(pl.col("rank") == rank)["compute_ns"].mean())
    others = number(rank_steps.filter(pl.col("rank") != rank)["compute_ns"].median())
    return (
        f"Rank {rank} computes {ms_text(mine)} ms a step where the others compute {ms_text(others)}{_why(rank, rank_pace)}; "
        "spread evenly, the same work would save {saving}."
    )


def _why(rank: int, rank_pace: pl.DataFrame | None) -> str:
    """What its kernels tell: more of them, or larger ones."""
    row = None if rank_pace is None else next(iter(rank_pace.filter(pl.col("rank") == rank).to_dicts()), None)
    if row is None:
        return ""
    if row["work_ratio"] is not None:
        return f", with {digits(row['work_ratio'])} times the work by its operators' shapes"
    if row["count_ratio"] >= MORE_KERNELS_RATIO:
        return f", with {row['count_ratio'] - 1:.0%} more kernels"
    return f", with the same kernels taking {max(row['pace_ratio'] - 1, 0):.0%} longer: larger inputs, or a slower device"
