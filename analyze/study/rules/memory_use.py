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
    if known:
        sizes = ", ".join(f"{gib(cell['device_allocated_bytes'])} at batch {cell['batch_size']}" for cell in known)
        text = f"Training needs {sizes} of the {device(name)}'s memory."
        yield statement(RULE, QUESTION, text, *(cell.cite("device_allocated_bytes") for cell in known))


def _host(name: str, cells: list[Row]) -> Iterator[Statement]:
    known = [cell for cell in cells if cell["host_used_bytes"] is not None]
    if len(known) < 2:  # noqa: PLR2004 - nothing to compare
        return
    first, last = known[0], known[-1]
    constant = abs(last["host_used_bytes"] - first["host_used_bytes"]) <= CONSTANT_SHARE * first["host_used_bytes"]
    text = f"Memory in use on the host {'stays' if constant else 'does not stay'} the same when training on the {device(name)} "
    text += f"({gib(first['host_used_bytes'])} at batch {first['batch_size']}, "
    text += f"{gib(last['host_used_bytes'])} at {last['batch_size']})."
    yield statement(RULE, QUESTION, text, first.cite("host_used_bytes"), last.cite("host_used_bytes"))
