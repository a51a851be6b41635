"""What energy does an image take, how warm does it get, and how much of the power goes into waiting?"""

# ruff: noqa: RUF001 - dashes of ranges are meant
from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import amount, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "energy_use", 3


def energy_use(tables: Tables) -> Iterator[Statement]:
    """One sentence per training cell and part that does the training, where its energy is known."""
    for found in rows(tables, "energy", mode="train"):
        is_own = found["part"].startswith("CPU") == (found["device"] == "cpu")
        if is_own and found["image_j"] is not None:
            yield _energy(found)
        elif is_own and found["highest_c"] is not None:
            text = f"Training at batch {found['batch_size']} heats {found['part']} to {found['highest_c']:.0f} °C."
            yield statement(RULE, QUESTION, text, found.cite("highest_c"))


def _energy(found: Row) -> Statement:
    numbers = ["mean_w", "image_j", "image_low_j", "image_high_j", "epoch_wh", "epoch_low_wh", "epoch_high_wh"]
    limit = ""
    if found["limit_w"] is not None:
        numbers.append("limit_w")
        limit = f"of {found['limit_w']:.0f} "
    text = f"At batch {found['batch_size']} {found['part']} draws {found['mean_w']:.0f} {limit}W in training: "
    text += f"{amount(found['image_j'])} J an image ({_span(found['image_low_j'], found['image_high_j'])}), "
    text += f"{amount(found['epoch_wh'])} Wh an epoch ({_span(found['epoch_low_wh'], found['epoch_high_wh'])}, extrapolated)"
    if found["idle_share"] is not None:
        numbers.append("idle_share")
        text += f"; {percent(found['idle_share'])} of it the card would draw idle too"
    if found["highest_c"] is not None:
        numbers.append("highest_c")
        text += f"; at most {found['highest_c']:.0f} °C"
    return statement(RULE, QUESTION, f"{text}.", found.cite(*numbers))


def _span(low: float, high: float) -> str:
    return f"{amount(low)}–{amount(high)}"
