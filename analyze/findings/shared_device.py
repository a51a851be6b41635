"""What do fixes give back on a device that several ranks share? No more than it stands still for.

Time that one rank leaves, the others use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.saving import MIN_STEP_SHARE, share_text
from analyze.replay.turns import CHANGE_OVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.findings.model import Finding
    from analyze.replay import Replay
    from analyze.replay.joint import JointReplay

#: a fix that takes at least this share of its saving off the device's work makes room on it
DEVICE_WORK_SHARE = 0.5


@dataclass(frozen=True)
class SharedDevice:
    """What the ranks on one rank's device have for it to do, ns per step of the reported step time."""

    ranks: int
    #: their kernels' time by itself, and with the turns they take
    work_ns: float
    busy_ns: float


def shared_device(rank: int | None, joint: JointReplay | None, step_ns: float) -> SharedDevice | None:
    """What this rank's device has to do for all who share it; None where it is this rank's alone, as far as is known."""
    if joint is None or joint.turns is None or rank not in joint.ranks:
        return None
    device = joint.turns.device
    mine = device[joint.ranks.index(rank)]
    sharing = [place for place, one in enumerate(device) if one == mine]
    if mine is None or len(sharing) == 1:
        return None
    scale = step_ns / joint.step_ns
    work = [float(joint.turns.work_ns(cost)[sharing].sum(axis=0).mean()) * scale for cost in CHANGE_OVER]
    return SharedDevice(len(sharing), work[-1], work[1] / (1.0 - CHANGE_OVER[1]))


def within_the_device(findings: Sequence[Finding], shared: SharedDevice | None, replay: Replay | None) -> list[Finding]:
    """The findings in order; those that only take this rank's waiting away claim what the device still stands still for.

    What makes kernels shorter is left as it is, and so is what all ranks were played together for.
    """
    if shared is None or replay is None:
        return list(findings)
    room_ns, most_ns = (max(replay.step_ns - busy, 0.0) for busy in (shared.busy_ns, shared.work_ns))
    kept = []
    for finding in findings:
        claimed = finding.step_saving_ns or 0.0
        if finding.edit is None or claimed <= room_ns or _device_work_removed(finding, replay) >= DEVICE_WORK_SHARE * claimed:
            kept.append(finding)
        elif room_ns >= MIN_STEP_SHARE * replay.step_ns:
            kept.append(_limited(finding, room_ns, most_ns, replay.step_ns, shared.ranks))
    return kept


def _device_work_removed(finding: Finding, replay: Replay) -> float:
    """Kernel time per step that the fix takes away."""
    if finding.edit is None:
        return 0.0
    edited = finding.edit(replay.program)
    each = [float((program.work_dur * program.work_keep).sum()) for program in (replay.program, edited)]
    return (each[0] - each[1]) / replay.program.steps


def _limited(finding: Finding, saving_ns: float, most_ns: float, step_ns: float, ranks: int) -> Finding:
    claimed = share_text(finding.step_saving_ns or 0.0, step_ns)
    said = f"{share_text(saving_ns, step_ns)}, as {ranks} ranks share the GPU and it has no more time to give"
    return replace(
        finding,
        step_saving_ns=saving_ns,
        step_saving_low_ns=0.0,
        step_saving_high_ns=min(finding.step_saving_high_ns or step_ns, max(most_ns, saving_ns)),
        message=finding.message.replace(claimed, said),
    )


def shares_device(rank: int, rank_states: pl.DataFrame | None) -> bool:
    """Whether another rank runs on this rank's device; not known without device ids, then no."""
    if rank_states is None:
        return False
    by_device = rank_states.drop_nulls("device_uuid").filter(pl.len().over("device_uuid") > 1)
    return rank in by_device["rank"].to_list()
