"""How much does each device compute, and what is it waiting for otherwise?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import cause, device, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "waiting", 1
#: a device that computes for so much of the step has nothing worth waiting less for
BUSY_SHARE = 0.9
#: causes below this are left out of the sentence
NAMED_SHARE = 0.05
#: waiting for input below this does not matter on a CPU
INPUT_SHARE = 0.05
MOST_CAUSES = 2


def waiting(tables: Tables) -> Iterator[Statement]:
    """One sentence per training cell that was profiled."""
    for cell in sorted(rows(tables, "throughput", mode="train"), key=lambda cell: cell["device"] == "cpu"):
        parts = rows(tables, "causes", cell=cell["cell"])
        if parts:
            yield (_on_host if cell["device"] == "cpu" else _on_device)(cell, parts)


def _on_device(cell: Row, parts: list[Row]) -> Statement:
    compute = [part for part in parts if part["part"] == "compute"]
    busy = sum(part["share"] for part in compute)
    where = f"At batch {cell['batch_size']} the {device(cell['device'])} computes for {percent(busy)} of the training step"
    cited = [number for part in compute for number in part.cite("share")]
    if busy >= BUSY_SHARE:
        return statement(RULE, QUESTION, f"{where}: feeding it faster would gain little.", tuple(cited))
    others = [part for part in parts if part["part"] != "compute" and part["share"] >= NAMED_SHARE][:MOST_CAUSES]
    named = ", ".join(f"{percent(part['share'])} {cause(part['part'])}" for part in others)
    cited += [number for part in others for number in part.cite("share")]
    return statement(RULE, QUESTION, f"{where}; the rest is {named}." if named else f"{where}.", tuple(cited))


def _on_host(cell: Row, parts: list[Row]) -> Statement:
    waits = [part for part in parts if part["part"] == "input_wait"]
    share = sum(part["share"] for part in waits)
    where = f"At batch {cell['batch_size']} the CPU spends "
    if share >= INPUT_SHARE:
        return statement(
            RULE, QUESTION, f"{where}{percent(share)} of the training step waiting for input.", waits[0].cite("share")
        )
    first = parts[0]
    text = f"{where}its training step computing, most of it ({percent(first['share'])}) in {first['part'].replace('_', ' ')}."
    return statement(RULE, QUESTION, text, first.cite("share"))
