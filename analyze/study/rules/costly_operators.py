"""What does each device spend its time on, and does the copy to the GPU matter?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import row, rows, statement
from analyze.study.wording import device, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Tables
    from analyze.study.model import Statement

RULE, QUESTION = "costly_operators", 7
NAMED = 3
#: below this share of the step the copy is no place to save
COPY_SHARE = 0.05
COPY = "copy to the GPU"


def costly_operators(tables: Tables) -> Iterator[Statement]:
    """One sentence per training cell, one more about its copy to the GPU."""
    for cell in dict.fromkeys(found["cell"] for found in rows(tables, "operators", mode="train")):
        listed = [found for found in rows(tables, "operators", cell=cell) if found["place"] is not None][:NAMED]
        if listed:
            names = ", ".join(f"{percent(found['share'])} is {found['operator'].removeprefix('aten::')}" for found in listed)
            where = f"on the {device(listed[0]['device'])} at batch {listed[0]['batch_size']}"
            text = f"Of the time that training computes {where}, {names}."
            yield statement(RULE, QUESTION, text, *(found.cite("operator", "share") for found in listed))
        copy = row(tables, "operators", cell=cell, operator=COPY)
        if copy is not None:
            text = f"The copy to the GPU takes {copy['ms']:.2f} ms a step at batch {copy['batch_size']}"
            numbers = ["ms"]
            if copy["step_share"] is not None:
                numbers.append("step_share")
                matters = copy["step_share"] >= COPY_SHARE
                text += f", {percent(copy['step_share'])} of it: "
                text += "worth hiding behind other work" if matters else "not what costs time"
            yield statement(RULE, QUESTION, f"{text}.", copy.cite(*numbers))
