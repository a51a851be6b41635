"""How long would the whole training take?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import device, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Tables
    from analyze.study.model import Statement

RULE, QUESTION = "whole_training", 4


def whole_training(tables: Tables) -> Iterator[Statement]:
    """One sentence per training cell, which says what it was extrapolated from."""
    for found in rows(tables, "training_time"):
        low, high = found["hours_low"], found["hours_high"]
        spread = "spread not known" if low is None or high is None else f"{duration(low)} to {duration(high)}"
        asked = "1 epoch" if found["epochs"] == 1 else f"{found['epochs']} epochs"
        text = (
            f"{asked} of {found['images_per_epoch']:,} images would take {duration(found['hours'])} ({spread}) "
            f"on the {device(found['device'])} at batch {found['batch_size']}, "
            f"extrapolated from {found['stretch_images']:,} images in {found['stretch_s']:.1f} s, steps alone."
        )
        numbers = ("hours", "hours_low", "hours_high", "epochs", "images_per_epoch", "stretch_images", "stretch_s")
        yield statement(RULE, QUESTION, text, found.cite(*numbers))
