"""How much of the time are CPU and GPU in use while a model trains?"""

# ruff: noqa: RUF001 - dashes of ranges are meant
from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import device

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "in_use", 1


def in_use(tables: Tables) -> Iterator[Statement]:
    """One sentence per device that trained: its own use, that of the host, by batch size."""
    trained = sorted(rows(tables, "utilisation", mode="train"), key=lambda found: found["batch_size"])
    for name in sorted({found["device"] for found in trained}, key=lambda name: name == "cpu"):
        cells = [found for found in trained if found["device"] == name]
        host = [found for found in cells if found["part"] == "CPU"]
        told = [part for part in (host if name == "cpu" else _busiest(cells), [] if name == "cpu" else host) if part]
        if told:
            first, *rest = [", ".join(map(_use, parts)) for parts in told]
            text = f"While training on the {device(name)}, {_article(told[0][0]['part'])} is busy {first}"
            text += "".join(f"; {_article(parts[0]['part'])} {use}" for parts, use in zip(told[1:], rest, strict=True)) + "."
            text = text.replace(" %)", " % in eight of ten samples)", 1)
            numbers = (found.cite("mean_percent", "p10_percent", "p90_percent") for parts in told for found in parts)
            yield statement(RULE, QUESTION, text, *numbers)


def _busiest(cells: list[Row]) -> list[Row]:
    """The busiest GPU of each cell; whether others work too is a question of its own."""
    cards: dict[str, Row] = {}
    for found in cells:
        best = cards.get(found["cell"])
        if found["part"] != "CPU" and (best is None or found["mean_percent"] > best["mean_percent"]):
            cards[found["cell"]] = found
    return list(cards.values())


def _article(part: str) -> str:
    return "the CPU, all cores together," if part == "CPU" else part


def _use(found: Row) -> str:
    low, high = found["p10_percent"], found["p90_percent"]
    return f"{found['mean_percent']:.0f} % of the time at batch {found['batch_size']} ({low:.0f}–{high:.0f} %)"
