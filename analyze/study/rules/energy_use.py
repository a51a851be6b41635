"""What energy does an image take, how warm does it get, and how much of the power goes into waiting?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import amount, percent, span

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
    numbers = ["mean_w", "image_j", "image_low_j", "image_high_j", "epoch_wh"]
    text = f"At batch {found['batch_size']} {found['part']} draws {found['mean_w']:.0f} W in training: "
    text += f"{amount(found['image_j'])} J an image ({span(found['image_low_j'], found['image_high_j'], '{:.3g}')}), "
    text += f"{amount(found['epoch_wh'])} Wh an epoch (extrapolated)"
    if found["idle_share"] is not None:
        numbers.append("idle_share")
        text += f"; {percent(found['idle_share'])} of it the idle card would draw too"
    if found["highest_c"] is not None:
        numbers.append("highest_c")
        text += f"; at most {found['highest_c']:.0f} °C"
    return statement(RULE, QUESTION, f"{text}.", found.cite(*numbers))
