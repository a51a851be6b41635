"""Where there are several GPUs: did each of them work?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "idle_gpu", 7
#: a card below this share of the busiest one's utilisation takes no part in the work
IDLE_SHARE = 0.05
#: cards within this of one another share the work evenly
EVEN_SHARE = 0.8


def idle_gpu(tables: Tables) -> Iterator[Statement]:
    """One sentence per training cell that could see several GPUs."""
    for cell in dict.fromkeys(found["cell"] for found in rows(tables, "gpu_work", mode="train")):
        cards = rows(tables, "gpu_work", cell=cell)
        known = [card for card in cards if card["share_of_busiest"] is not None]
        if len(known) > 1:
            numbers = [card.cite("mean_percent", "mean_w", "share_of_busiest") for card in known]
            yield statement(RULE, QUESTION, _sentence(known), *numbers)


def _sentence(cards: list[Row]) -> str:
    where = f"Training at batch {cards[0]['batch_size']}"
    drawn = ", ".join(f"{card['part']} {card['mean_percent']:.0f} %{_watts(card)}" for card in cards)
    idle = [card["part"] for card in cards if card["share_of_busiest"] < IDLE_SHARE]
    lowest = min(card["share_of_busiest"] for card in cards)
    if idle:
        return f"{where} leaves {' and '.join(idle)} idle: {drawn}. One process uses one GPU; torchrun starts one for each."
    if lowest < EVEN_SHARE:
        return f"{where} spreads the work unevenly, the least busy GPU at {percent(lowest)} of the busiest: {drawn}."
    return f"{where} spreads the work evenly: {drawn}."


def _watts(card: Row) -> str:
    return "" if card["mean_w"] is None else f" and {card['mean_w']:.0f} W"
