"""How long does one wait for an answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import amount, device, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Tables
    from analyze.study.model import Statement

RULE, QUESTION = "answer_time", 5
#: with fewer batches the ninety-ninth of a hundred is the slowest seen
MANY_BATCHES = 100
#: below this the wait for input takes nothing from the images a second
HELD_BACK_SHARE = 0.1


def answer_time(tables: Tables) -> Iterator[Statement]:
    """One sentence per cell of inference."""
    for found in rows(tables, "inference"):
        numbers = ["batch_p50_ms", "batch_p99_ms", "batches", "images_per_s"]
        text = f"A batch of {found['batch_size']} is classified on the {device(found['device'])} "
        text += f"in {amount(found['batch_p50_ms'])} ms "
        text += f"(p99 {amount(found['batch_p99_ms'])} ms{_few(found['batches'])})"
        if found["images_per_s"] is not None:
            text += f", {amount(found['images_per_s'])} images a second with loading"
            if found["input_wait_share"] is not None and found["input_wait_share"] >= HELD_BACK_SHARE:
                numbers.append("input_wait_share")
                text += f", for which it waits {percent(found['input_wait_share'])} of the time"
        if found["single_image_p50_ms"] is not None:
            numbers += ["single_image_p50_ms", "single_image_p99_ms", "single_images"]
            text += f"; a single image in {amount(found['single_image_p50_ms'])} ms "
            text += f"(p99 {amount(found['single_image_p99_ms'])} ms{_few(found['single_images'])})"
        yield statement(RULE, QUESTION, f"{text}.", found.cite(*numbers))


def _few(answers: int) -> str:
    return "" if answers >= MANY_BATCHES else f", of only {answers}"
