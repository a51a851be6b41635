"""How much memory does training need, and does the host's grow with the batch?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import device, gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "memory_use", 2
#: a host whose memory in use differs by less between batch sizes has not noticed them
CONSTANT_SHARE = 0.1


def memory_use(tables: Tables) -> Iterator[Statement]:
    """One sentence about each device's memory, one about the host's."""
    for name in dict.fromkeys(found["device"] for found in rows(tables, "memory", mode="train")):
        cells = sorted(rows(tables, "memory", mode="train", device=name), key=lambda cell: cell["batch_size"])
        yield from _device(name, cells)
        yield from _host(name, cells)


def _device(name: str, cells: list[Row]) -> Iterator[Statement]:
    known = [cell for cell in cells if cell["device_allocated_bytes"] is not None]
    if not known:
        return
    numbers = ["device_allocated_bytes"]
    sizes = ", ".join(f"{gib(cell['device_allocated_bytes'])} at batch {cell['batch_size']}" for cell in known)
    text = f"Tensors of training take {sizes} of the {device(name)}'s "
    if known[0]["device_total_bytes"] is None:
        text += "memory"
    else:
        numbers.append("device_total_bytes")
        text += gib(known[0]["device_total_bytes"])
    if all(cell["device_used_bytes"] is not None for cell in known):
        numbers.append("device_used_bytes")
        text += f"; with all else on the card it is {', '.join(gib(cell['device_used_bytes']) for cell in known)}"
    yield statement(RULE, QUESTION, f"{text}.", *(cell.cite(*numbers) for cell in known))


def _host(name: str, cells: list[Row]) -> Iterator[Statement]:
    known = [cell for cell in cells if cell["host_used_bytes"] is not None]
    if len(known) < 2:  # noqa: PLR2004 - nothing to compare
        return
    first, last = known[0], known[-1]
    before, after, total = first["host_used_bytes"], last["host_used_bytes"], last["host_total_bytes"]
    constant = abs(after - before) <= CONSTANT_SHARE * before
    change = "stays about the same" if constant else "grows" if after > before else "shrinks"
    text = f"Memory in use on the host {change} with the batch when training on the {device(name)} "
    text += f"({gib(before)} at batch {first['batch_size']}, {gib(after)} at {last['batch_size']}"
    text += ")." if total is None else f", of {gib(total)})."
    whole = () if total is None else last.cite("host_total_bytes")
    yield statement(RULE, QUESTION, text, first.cite("host_used_bytes"), last.cite("host_used_bytes"), whole)
