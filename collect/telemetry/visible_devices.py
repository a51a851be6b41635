"""Which physical GPUs does the training process see, and as which CUDA index?

NVML numbers every card of the host by bus position and knows nothing of CUDA_VISIBLE_DEVICES, so a card is always known
by its UUID.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, kw_only=True)
class Card:
    """One card as NVML lists it."""

    nvml_index: int
    uuid: str
    name: str


@dataclass(frozen=True, kw_only=True)
class Visible:
    """CUDA index → UUID, in order; `reason` where the mapping cannot be told."""

    uuids: tuple[str, ...] | None
    reason: str | None = None


def visible_uuids(cards: Sequence[Card], environ: Mapping[str, str]) -> Visible:
    """Return what CUDA will show, from `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`.

    MIG ids are passed on as they are. Like CUDA, the list ends at the first entry that names no card.
    """
    wanted = environ.get("CUDA_VISIBLE_DEVICES")
    by_speed = environ.get("CUDA_DEVICE_ORDER", "FASTEST_FIRST") != "PCI_BUS_ID"
    mixed = len({card.name for card in cards}) > 1
    entries = None if wanted is None else [entry.strip() for entry in wanted.split(",")]
    if by_speed and mixed and (entries is None or any(entry.isdigit() for entry in entries)):
        return Visible(uuids=None, reason="cards differ and CUDA orders them by speed: set CUDA_DEVICE_ORDER=PCI_BUS_ID")
    if entries is None:
        return Visible(uuids=tuple(card.uuid for card in cards))
    found: list[str] = []
    for entry in entries:
        uuid = _find(entry, cards)
        if uuid is None or uuid in found:
            break
        found.append(uuid)
    return Visible(uuids=tuple(found))


def _find(entry: str, cards: Sequence[Card]) -> str | None:
    if entry.isdigit():
        return next((card.uuid for card in cards if card.nvml_index == int(entry)), None)
    if entry.startswith("MIG-"):
        return entry
    matching = [card.uuid for card in cards if entry.startswith("GPU-") and card.uuid.startswith(entry)]
    return matching[0] if len(matching) == 1 else None
