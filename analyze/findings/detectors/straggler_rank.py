"""One rank is late in every step, and all others wait for it."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.joint_saving import jointly_replayed
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import ms_text
from analyze.findings.shared_device import shares_device
from analyze.replay import Saving

if TYPE_CHECKING:
    from analyze.replay import Replay
    from analyze.replay.joint import Change, JointReplay

DETECTOR = Detector(
    id="straggler-rank",
    title="One rank is late, and the others wait for it",
    meaning=(
        "Ranks exchange gradients in every step, so each step takes as long as the slowest rank's. This one does no more work "
        "than the others: it waits for its data, its host launches late or collects garbage, or its device is slower. All ranks "
        "show the same step time; the difference is in what each does before it arrives."
    ),
    measured=(
        "Each rank's own part of the step, what it did while no collective held it up, against the median of the others; the "
        "difference must clear the noise of the steps. Saving: all ranks replayed together, with what this rank loses taken off."
    ),
    fix=(
        Remedy(
            text="Look at that rank alone: its report says what its host or device does", code="stepscope report RUN --rank N"
        ),
        Remedy(
            text="Where it waits for input: same storage, same number of workers, equal shards for every rank",
            code="sampler = torch.utils.data.distributed.DistributedSampler(dataset, drop_last=True)",
        ),
        Remedy(
            text="Where its host is late: pin the process to cores of its own, near its GPU",
            code="numactl --cpunodebind=0 --membind=0 python train.py",
        ),
        Remedy(
            text="Where its device is slow: compare clocks, temperature and power with the others", code="nvidia-smi -q -d CLOCK"
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/elastic/run.html",
)

#: a device whose clock is this share of the others' is slower, not busier
SLOW_CLOCK_RATIO = 0.95
#: what a rank loses in this part is work of its own, which rank-imbalance is about: unless it has no more than the others
WORK = "compute"
#: by its operators' shapes, a rank has as much work as the others below this multiple of theirs
SAME_WORK_RATIO = 1.05
#: what the others lost to a rank in the recorded steps is worth a note from this share of the step on
PERHAPS_STEP_SHARE = 0.10
WHAT = {
    "input_wait": "waits for its input",
    "gc": "collects garbage",
    "host": "is held up by its host (launching, Python, other calls)",
    "copy": "copies",
    WORK: "takes longer for the same work",
}


def detect(
    lateness: pl.DataFrame,
    joint_replay: JointReplay,
    rank_states: pl.DataFrame | None = None,
    rank_pace: pl.DataFrame | None = None,
    replay: Replay | None = None,
) -> list[Finding]:
    """One finding per cause, with all ranks that are late because of it."""
    slow = _slow_devices(rank_states)
    slower = [*slow, *_slower_at_the_same(rank_pace, rank_states)]
    late = lateness.filter("significant", (pl.col("cause") != WORK) | pl.col("rank").is_in(slower))
    found = []
    for cause in late["cause"].unique(maintain_order=True):
        mine = late.filter(pl.col("cause") == cause)
        each = [joint_replay.as_others(rank, f"{cause}_ns") for rank in mine["rank"]]
        change = reduce(operator.add, each)
        found += jointly_replayed(
            DETECTOR.id,
            joint_replay,
            _saving(joint_replay, change, int(mine["rank"][0])),
            replay=replay,
            certainty=0.7 if mine["noise_ns"][0] is None else 1.0,
            message=_message(mine, str(cause), slow),
            rank=int(mine["rank"][0]),
            location=", ".join(f"rank {rank}" for rank in mine["rank"]),
            evidence=_evidence(lateness, rank_states),
            thresholds={"slow_clock_ratio": SLOW_CLOCK_RATIO},
            caveat=None if mine["noise_ns"][0] is not None else "one step was recorded: whether it is always so is not known",
        )
    return found or _perhaps(lateness, joint_replay)


def _perhaps(lateness: pl.DataFrame, joint_replay: JointReplay) -> list[Finding]:
    """A note where the recorded steps were lost to one rank, and are too few or too unlike to call that its habit."""
    least = PERHAPS_STEP_SHARE * joint_replay.recorded_ns
    open_still = lateness.filter(~pl.col("significant"), pl.col("noise_ns").is_not_null(), pl.col("cause") != WORK)
    large = open_still.filter(pl.col("excess_ns") > least, pl.col("caused_wait_ns") > least)
    if large.is_empty() or len(joint_replay.steps) < 2:  # noqa: PLR2004 - one step has no noise
        return []
    row = large.row(0, named=True)
    excess, waited = ms_text(row["excess_ns"]), ms_text(row["caused_wait_ns"])
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"In the {len(joint_replay.steps)} steps recorded, rank {row['rank']} needs {excess} ms more than the others for "
                f"its own part, as it {WHAT[row['cause']]}, and they wait {waited} ms a step for it; from step to step that "
                "varies too much to call it a habit: record more steps."
            ),
            confidence=0.5,
            severity=Severity.MEDIUM,
            rank=int(row["rank"]),
            location=f"rank {row['rank']}",
            evidence=_evidence(lateness, None),
            thresholds={"perhaps_step_share": PERHAPS_STEP_SHARE},
        )
    ]


def _saving(joint_replay: JointReplay, change: Change, rank: int) -> Saving:
    """Between what ranks show while they wait, and what they would do if nobody waited: on the host these differ."""
    cold = joint_replay.saving(change)
    warm = joint_replay.saving(change + joint_replay.as_warm_as(rank))
    return Saving((cold.ns + warm.ns) / 2, min(cold.low_ns, warm.low_ns), max(cold.high_ns, warm.high_ns))


def _message(mine: pl.DataFrame, cause: str, slow: list[int]) -> str:
    what = "computes the same on a slower clock" if cause == WORK and mine["rank"][0] in slow else WHAT[cause]
    ranks = " and ".join(str(rank) for rank in mine["rank"])
    several = mine.height > 1
    excess = ms_text(mine["excess_ns"][0])
    # what it loses in one thing it may make up for in others
    part = "all" if mine["cause_ns"][0] >= mine["excess_ns"][0] else f"{ms_text(mine['cause_ns'][0])} ms"
    each = "the slower of them " if several else ""
    last = mine["last_fraction"].sum()
    came_last = f", came last in {last:.0%} of the collectives with a wait" if last else ""
    return (
        f"Rank{'s' if several else ''} {ranks} {'are' if several else 'is'} late{came_last}: {each}needs {excess} ms a "
        f"step more than the others for its own part, {part} of it because it {what}; as fast as the others, "
        "it would save {saving}."
    )


def _slow_devices(rank_states: pl.DataFrame | None) -> list[int]:
    if rank_states is None:
        return []
    return rank_states.filter(pl.col("clock_ratio") < SLOW_CLOCK_RATIO)["rank"].to_list()


def _slower_at_the_same(rank_pace: pl.DataFrame | None, rank_states: pl.DataFrame | None) -> list[int]:
    """Ranks with no more work than the others; on a device that several share, each lengthens the others' kernels."""
    if rank_pace is None:
        return []
    same = rank_pace.filter(pl.col("work_ratio") < SAME_WORK_RATIO)["rank"].to_list()
    return [rank for rank in same if not shares_device(rank, rank_states)]


def _evidence(lateness: pl.DataFrame, rank_states: pl.DataFrame | None) -> pl.DataFrame:
    shown = lateness.select("rank", "own_ns", "excess_ns", "noise_ns", "cause", "cause_ns", "last_fraction", "waits_ns")
    if rank_states is None or rank_states["sm_clock_mhz"].null_count() == rank_states.height:
        return shown
    return shown.join(rank_states.select("rank", "sm_clock_mhz", "temperature_c"), on="rank", how="left", maintain_order="left")
