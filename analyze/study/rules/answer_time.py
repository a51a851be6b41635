"""How long does one wait for an answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import amount, device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Tables
    from analyze.study.model import Statement

RULE, QUESTION = "answer_time", 5
#: with fewer batches the ninety-ninth of a hundred is the slowest seen
MANY_BATCHES = 100


def answer_time(tables: Tables) -> Iterator[Statement]:
    """One sentence per cell of inference."""
    for found in rows(tables, "inference"):
        numbers = ["batch_p50_ms", "batch_p99_ms", "batches", "images_per_s"]
        few = "" if found["batches"] >= MANY_BATCHES else f", of only {found['batches']}"
        text = f"A batch of {found['batch_size']} is classified on the {device(found['device'])} "
        text += f"in {amount(found['batch_p50_ms'])} ms "
        text += f"(p99 {amount(found['batch_p99_ms'])} ms{few})"
        if found["images_per_s"] is not None:
            text += f", {amount(found['images_per_s'])} images a second with loading"
        if found["single_image_p50_ms"] is not None:
            numbers += ["single_image_p50_ms", "single_image_p99_ms"]
            text += (
                f"; a single image in {amount(found['single_image_p50_ms'])} ms (p99 {amount(found['single_image_p99_ms'])} ms)"
            )
        yield statement(RULE, QUESTION, f"{text}.", found.cite(*numbers))
