"""A GPU of the machine draws power and does nothing while the steps run."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyze.findings.cards import card_name
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.scalars import whole

DETECTOR = Detector(
    id="idle-gpu",
    title="A GPU stands idle while the training runs",
    meaning=(
        "A card that this run could use runs no kernel at all during the steps. It is paid for, it draws idle power, "
        "and the training may be slower than it need be: on a forgotten device, on one card of several, or on the CPU "
        "by mistake."
    ),
    measured=(
        "Cards whose utilisation is zero in every sample within the steps, and on which no recorded kernel ran. Only "
        "cards that the training process can see are sampled unless all are asked for."
    ),
    fix=(
        Remedy(text="Check that the model and its batches are on the device", code='model.to("cuda")\nbatch = batch.to("cuda")'),
        Remedy(
            text="Train on all cards, one process each",
            code="torchrun --nproc-per-node gpu train.py",
        ),
        Remedy(
            text="Leave the card to others: show the run only what it uses",
            code="CUDA_VISIBLE_DEVICES=0 stepscope collect -- train.py",
        ),
    ),
    doc="https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html",
)

#: a card that shows more than this in any sample did something; drivers report whole percents
MAX_UTILISATION_PERCENT = 0.0


def detect(
    device_state: pl.DataFrame,
    manifest: dict[str, Any] | None = None,
    kernels: pl.DataFrame | None = None,
) -> list[Finding]:
    """One note naming every idle card."""
    idle = device_state.filter(
        pl.col("highest_utilisation_percent") <= MAX_UTILISATION_PERCENT,
        ~pl.col("device_uuid").is_in(_used(manifest, kernels)),
    )
    nothing_works = idle.height == device_state.height
    if idle.is_empty() or (nothing_works and kernels is not None):
        return []
    names = [card_name(uuid, manifest) for uuid in idle["device_uuid"]]
    drawn = idle["power_w"].sum() if idle["power_w"].null_count() < idle.height else None
    power = "" if drawn is None else f" and {'draw' if len(names) > 1 else 'draws'} {drawn:,.0f} W"
    one = "run nothing during the steps" if len(names) > 1 else "runs nothing during the steps"
    working = device_state.height - idle.height
    where = "no card works" if (manifest or {}).get("device") == "cuda" else "the training runs on the CPU"
    rest = where if nothing_works else f"{working} of {device_state.height} cards work"
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=f"{', '.join(names)} {one}{power}; {rest}.",
            confidence=0.9,
            severity=Severity.HIGH if nothing_works else Severity.MEDIUM,
            location=names[0],
            evidence=idle.select("host", "device_uuid", "samples", "highest_utilisation_percent", "power_w", "memory_used_bytes"),
            thresholds={"max_utilisation_percent": MAX_UTILISATION_PERCENT},
            fix=_remedies(device_state),
        )
    ]


def _remedies(device_state: pl.DataFrame) -> tuple[Remedy, ...]:
    """The detector's, with as many processes as the fullest host has cards; one card needs no second process."""
    cards = whole(device_state.group_by("host").len()["len"].max())
    on_the_device, on_all_cards, *others = DETECTOR.fix
    if cards > 1:
        others.insert(0, Remedy(text=on_all_cards.text, code=on_all_cards.code.replace("gpu", str(cards))))
    return (on_the_device, *others)


def _used(manifest: dict[str, Any] | None, kernels: pl.DataFrame | None) -> list[str]:
    """UUIDs of the devices on which the trace holds kernels: a short burst can fall between two samples."""
    if kernels is None:
        return []
    indexes = set(kernels["device"].drop_nulls())
    return [
        device["uuid"]
        for device in (manifest or {}).get("devices") or []
        if device.get("index") in indexes and device.get("uuid")
    ]
