"""How much does each device compute, and what is it waiting for otherwise?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import UNKNOWN_CAUSES, cause, device, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Number, Statement

RULE, QUESTION = "waiting", 1
#: a device that computes for so much of the step has nothing worth waiting less for
BUSY_SHARE = 0.9
#: causes below this are left out of the sentence
NAMED_SHARE = 0.05
#: waiting for input below this does not matter on a CPU
INPUT_SHARE = 0.05
MOST_CAUSES = 2
#: few steps are profiled: where all measured ones wait for input by so much more or less, both are said
MISLED_BY = 0.05


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
    told = [part for part in parts if part["part"] not in ("compute", *UNKNOWN_CAUSES) and part["share"] >= NAMED_SHARE][
        :MOST_CAUSES
    ]
    named = [f"for {percent(part['share'])} it {cause(part['part'])}" for part in told]
    untold = [part for part in parts if part["part"] in UNKNOWN_CAUSES]
    if sum(part["share"] for part in untold) >= NAMED_SHARE:
        named.append(f"for {percent(sum(part['share'] for part in untold))} the cause is not known")
        told += untold
    text = f"{where}; {', '.join(named)}" if named else where
    basis, numbers = _basis(cell, parts)
    cited += [number for part in told for number in part.cite("share")]
    return statement(RULE, QUESTION, f"{text}{basis}.", tuple(cited), numbers)


def _basis(cell: Row, parts: list[Row]) -> tuple[str, tuple[Number, ...]]:
    """From how few steps this is, and what all steps have to say about the wait for input."""
    steps, measured = parts[0]["profiled_steps"], cell["input_wait_share"]
    if steps is None:
        return "", ()
    told = f"{steps} profiled step{'s' * (steps > 1)}"
    seen = sum(part["share"] for part in parts if part["part"] == "idle_input_wait")
    if measured is None or abs(measured - seen) < MISLED_BY:
        return f" ({told})", parts[0].cite("profiled_steps")
    text = f" ({told}; of all {cell['steps']} measured steps' time {percent(measured)} is waiting for input)"
    return text, (*parts[0].cite("profiled_steps"), *cell.cite("steps", "input_wait_share"))


def _on_host(cell: Row, parts: list[Row]) -> Statement:
    waits = [part for part in parts if part["part"] == "input_wait"]
    share = sum(part["share"] for part in waits)
    where = f"At batch {cell['batch_size']} the {device(cell['device'])}"
    if share >= INPUT_SHARE:
        text = f"{where} spends {percent(share)} of the training step waiting for input."
        return statement(RULE, QUESTION, text, waits[0].cite("share"))
    largest = parts[:MOST_CAUSES]
    named = ", ".join(f"{percent(part['share'])} is {part['part'].replace('_', ' ')}" for part in largest)
    text = f"{where} hardly waits: of its training step {named}."
    return statement(RULE, QUESTION, text, *(part.cite("share") for part in largest))
