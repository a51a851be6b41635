"""Several ranks run on one GPU and take turns on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.cards import card_name
from analyze.findings.joint_saving import jointly_replayed
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import ms_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.replay import Replay
    from analyze.replay.joint import JointReplay

DETECTOR = Detector(
    id="shared-device",
    title="Several ranks share one GPU",
    meaning=(
        "Unless MPS is used, a GPU runs one process's kernels at a time and changes between those that have some. Ranks that "
        "end up on one card, as when none of them chooses its own, take as long together as one after the other: every rank "
        "adds its time to the step, and nothing is gained by having several."
    ),
    measured=(
        "Ranks whose kernels ran on the card with the same id. While n of them have kernels at once, each is taken to get one "
        "nth of the card, which says how long each rank's kernels take by themselves. Saving: all ranks replayed together with "
        "a card each, where the host shows cards that no rank uses."
    ),
    fix=(
        Remedy(
            text="Give every process a card of its own",
            code='torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))',
        ),
        Remedy(
            text="With one card: one process, with the batches of all; it exchanges no gradients",
            code="torchrun --nproc-per-node 1 train.py",
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/generated/torch.cuda.set_device.html",
)


def detect(
    rank_states: pl.DataFrame,
    joint_replay: JointReplay | None = None,
    manifest: Mapping[str, Any] | None = None,
    replay: Replay | None = None,
) -> list[Finding]:
    """One finding for all shared cards: a saving where there are cards to move to, else a note."""
    known = rank_states.drop_nulls("device_uuid")
    if known.is_empty():
        raise MissingData("the recording does not say which GPU each rank used")
    cards = known.group_by("device_uuid", "host", maintain_order=True).agg(pl.col("rank")).filter(pl.col("rank").list.len() > 1)
    if cards.is_empty():
        return []
    spare = _spare(known, manifest)
    lacking = sum(len(ranks) - 1 for ranks in cards["rank"])
    fields: dict[str, Any] = {
        "location": card_name(cards["device_uuid"][0], manifest),
        "evidence": _evidence(known, joint_replay),
    }
    which = _which(cards, known, manifest)
    saving = joint_replay.on_own_devices() if joint_replay is not None else None
    if joint_replay is not None and saving is not None and spare:
        caveat = None if spare >= lacking else f"that takes {lacking} more cards, and this host shows {spare} that no rank uses"
        return jointly_replayed(
            DETECTOR.id,
            joint_replay,
            saving,
            replay=replay,
            message=f"{which}; with a card each they would save {{saving}}.",
            caveat=caveat,
            **fields,
        )
    step_ns = replay.step_ns if replay is not None else None if joint_replay is None else joint_replay.step_ns
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=f"{which}. {_with_more(joint_replay, saving.ns if saving else 0.0, step_ns)}",
            confidence=0.9,
            severity=Severity.HIGH,
            # where every card of the host is known, and in use
            fix=DETECTOR.fix[1:] if manifest is not None else None,
            **fields,
        )
    ]


def _with_more(joint_replay: JointReplay | None, saving_ns: float, step_ns: float | None) -> str:
    one = "One process with the batches of all would take no longer on it."
    if joint_replay is None or step_ns is None or saving_ns <= 0:
        return one
    apart = step_ns * (1.0 - saving_ns / joint_replay.step_ns)
    return f"{one} With a card each a step would take about {ms_text(apart)} ms instead of {ms_text(step_ns)}."


def _which(cards: pl.DataFrame, known: pl.DataFrame, manifest: Mapping[str, Any] | None) -> str:
    """'Ranks 0 and 1 take turns on GPU 0 (NVIDIA H200)', and how many cards beside it are shared."""
    ranks = sorted(cards["rank"][0])
    named = f"{', '.join(str(rank) for rank in ranks[:-1])} and {ranks[-1]}"
    kind = known.filter(pl.col("device_uuid") == cards["device_uuid"][0])["device_name"][0]
    card = card_name(cards["device_uuid"][0], manifest) + (f" ({kind})" if kind else "")
    more = f", as do others on {cards.height - 1} more" if cards.height > 1 else ""
    return f"Ranks {named} take turns on {card}{more}"


def _spare(known: pl.DataFrame, manifest: Mapping[str, Any] | None) -> int:
    """Cards of the head's host that it shows and no rank uses."""
    shown = {device.get("uuid") for device in (manifest or {}).get("devices") or ()}
    return len(shown - {None} - set(known["device_uuid"]))


def _evidence(known: pl.DataFrame, joint_replay: JointReplay | None) -> pl.DataFrame:
    shown = known.select("rank", "host", "device_uuid")
    if joint_replay is None:
        return shown
    each = {
        "kernels_ms": joint_replay.parts["compute_ns"].mean(axis=1) / 1e6,
        "kernels_alone_ms": joint_replay.device_work_ns().mean(axis=1) / 1e6,
    }
    work = pl.DataFrame({"rank": list(joint_replay.ranks), **each})
    return shown.join(work, on="rank", how="left", maintain_order="left").select("rank", *each, pl.exclude("rank", *each))
