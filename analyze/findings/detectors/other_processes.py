"""Processes that are none of the run's use its GPU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.cards import card_name
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.saving import modelled, ms_text
from analyze.replay.edits import with_work_duration
from analyze.replay.turns import CHANGE_OVER
from analyze.scalars import number_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.replay import Replay

DETECTOR = Detector(
    id="other-processes",
    title="Other processes use the same GPU",
    meaning=(
        "Somebody else's job, a notebook left open, or a run that did not end holds memory of the card, and whenever it has "
        "kernels the card takes turns: each of the run's kernels lasts longer, and no trace shows why. Times of kernels, and "
        "what they reach of the card, are then those of a part of it."
    ),
    measured=(
        "Processes that the driver lists on the card within the steps and that neither are the training nor were started by "
        "it or its launcher: how many, their memory, and the share of time in which their kernels ran. In a container the "
        "driver may list none; then it is not known. Saving: the recorded steps replayed with kernels shorter by that share, "
        "and by what changing from one process to the next costs."
    ),
    fix=(
        Remedy(text="See whose they are, and end those that are yours", code="nvidia-smi"),
        Remedy(
            text="Take a card that nobody uses, and let nobody else onto it",
            code="nvidia-smi --id=0 --compute-mode=EXCLUSIVE_PROCESS",
        ),
        Remedy(text="Record again when the card is free: until then, kernel times are not the code's"),
    ),
    doc="https://docs.nvidia.com/deploy/nvidia-smi/index.html",
)

#: kernels of others that run for less than this share of the time lengthen the steps by less than steps differ by
MIN_BUSY_PERCENT = 2.0
#: from here on, the steps are theirs to a good part
LARGE_BUSY_PERCENT = 10.0
#: memory held by others that is worth a word, as a share of the card's
MIN_MEMORY_SHARE = 0.05
#: a card looks five times a second which process runs; readings are averages over a second, and begin 0.4 s apart
LOOKS_COUNT = 2
#: four in five averages of so many looks lie within this many standard errors
LIKELY_ERRORS_RATIO = 1.28
#: where the slowest tenth of the steps takes this many times as long as the fastest, the fastest had the card alone
FREE_STEPS_SHARE, FREE_RATIO = 0.1, 1.5
#: of kernels' time, this is left whatever others take
LEAST_SHARE = 0.05
THRESHOLDS = {
    "min_busy_percent": MIN_BUSY_PERCENT,
    "large_busy_percent": LARGE_BUSY_PERCENT,
    "min_memory_share": MIN_MEMORY_SHARE,
}
EVIDENCE = (
    "host", "device_uuid", "samples", "other_processes_count", "other_processes_sm_percent", "other_processes_bytes",
)  # fmt: skip


def detect(
    device_state: pl.DataFrame,
    manifest: dict[str, Any] | None = None,
    replay: Replay | None = None,
    rank_state: pl.DataFrame | None = None,
    step_time: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding per card that others compute on, or hold memory of: a saving for the card of this rank, else a note."""
    if device_state["other_processes_count"].null_count() == device_state.height:
        raise MissingData("which processes use the GPU was not sampled, or the driver does not tell")
    percent = pl.col("other_processes_sm_percent")
    device_state = device_state.with_columns(pl.when(percent.is_finite()).then(percent))
    held = pl.col("other_processes_bytes") / pl.col("memory_total_bytes")
    busy = pl.col("other_processes_sm_percent") >= MIN_BUSY_PERCENT
    rows = device_state.filter(pl.col("other_processes_count") > 0, busy | (held >= MIN_MEMORY_SHARE))
    mine = rank_state["device_uuid"][0] if rank_state is not None else None
    found: list[Finding] = []
    for position, row in enumerate(rows.to_dicts()):
        evidence = rows[position].select(EVIDENCE)
        is_ours = row["device_uuid"] == mine and row["other_processes_sm_percent"] is not None
        given_back = _without_them(row, replay, step_time, evidence, manifest) if replay is not None and is_ours else []
        found += given_back or [_note(row, evidence, manifest)]
    return found


def _without_them(
    row: Mapping[str, Any],
    replay: Replay,
    step_time: pl.DataFrame | None,
    evidence: pl.DataFrame,
    manifest: dict[str, Any] | None,
) -> list[Finding]:
    """What the step would be with the card alone: kernels lose the share that others take of their time, and changing over."""
    program = replay.program
    # whoever has kernels gets an equal turn: beside n others that is no less than one in n + 1
    turns = row["other_processes_count"] / (row["other_processes_count"] + 1.0)
    share = min(max(row["other_processes_sm_percent"] / 100.0, 0.0), turns)
    busy = min(max(float(program.work_dur.sum()) / program.steps / replay.profiled_step_ns, share), 1.0)
    looks = LOOKS_COUNT * max(row["other_processes_samples"] or 1, 1)
    chance = LIKELY_ERRORS_RATIO * math.sqrt(share * (1.0 - share) / looks)
    # theirs may fall as far as possible into the time that this run's kernels leave, or not at all
    least = max(share - chance - (1.0 - busy), 0.0) / busy
    most = min((share + chance) / busy, turns)
    edits = [
        with_work_duration(program.work_id, program.work_dur * max(1.0 - within * (1.0 + lost), LEAST_SHARE))
        for within, lost in zip((least, share, most), CHANGE_OVER, strict=True)
    ]
    free_ns = _free_step_ns(step_time)
    paused = "" if free_ns is None else f", to {ms_text(free_ns)} ms when it pauses"
    fields: dict[str, Any] = {
        "message": f"{_what(row, manifest)}: kernels take turns with it and last longer; without it, the step would give back "
        f"{{saving}}{paused}.",
        "location": card_name(row["device_uuid"], manifest),
        "evidence": evidence,
        "thresholds": THRESHOLDS,
    }
    found = modelled_through_replay(DETECTOR.id, replay, edits[1], cautious=edits[0], optimistic=edits[2], **fields)
    if not found or free_ns is None or (found[0].step_saving_ns or 0.0) <= replay.step_ns - free_ns:
        return found
    low_ns, most_ns = found[0].step_saving_low_ns or 0.0, replay.step_ns - free_ns
    return modelled(DETECTOR.id, replay.step_ns, saving_ns=most_ns, low_ns=low_ns, high_ns=most_ns, **fields)


def _free_step_ns(step_time: pl.DataFrame | None) -> float | None:
    """What steps take while the others pause; None where no steps stand out as free of them.

    A step that shares the card all the time takes about twice as long as one that has it alone.
    """
    if step_time is None:
        return None
    steps = step_time.filter(~pl.col("profiled"))["step_ns"]
    fast, slow = (number_or_none(steps.quantile(share)) for share in (FREE_STEPS_SHARE, 1.0 - FREE_STEPS_SHARE))
    if fast is None or slow is None or slow < FREE_RATIO * fast:
        return None
    return number_or_none(steps.filter(steps < FREE_RATIO * fast).mean())


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: dict[str, Any] | None) -> Finding:
    busy = row["other_processes_sm_percent"]
    running = busy is not None and busy >= MIN_BUSY_PERCENT
    effect = "kernels take turns with it and last longer" if running else "the run has that much less of its memory"
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"{_what(row, manifest)}: {effect}.",
        confidence=0.9,
        severity=Severity.HIGH if running and busy >= LARGE_BUSY_PERCENT else Severity.MEDIUM if running else Severity.LOW,
        location=card_name(row["device_uuid"], manifest),
        evidence=evidence,
        thresholds=THRESHOLDS,
    )


def _what(row: Mapping[str, Any], manifest: dict[str, Any] | None) -> str:
    """'On GPU 0, 1 other process computes for 48% of the time and holds 0.8 GB while the steps run'."""
    count, busy, held = row["other_processes_count"], row["other_processes_sm_percent"], row["other_processes_bytes"]
    one = count == 1
    who = "1 other process" if one else f"{count} other processes"
    holding = [] if held is None else [f"{'holds' if one else 'hold'} {held / 1e9:,.1f} GB"]
    computing = [] if not busy else [f"{'computes' if one else 'compute'} for {busy:.0f}% of the time by the driver's count"]
    does = " and ".join([*computing, *holding]) or f"{'is' if one else 'are'} there"
    return f"On {card_name(row['device_uuid'], manifest)}, {who} {does} while the steps run"
