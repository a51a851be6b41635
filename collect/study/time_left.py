"""How long will the rest of a matrix take? From what cells alike took, and open about cells like which none has run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collect.study.matrix import Cell


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a finished cell took."""

    cell: Cell
    steps: int
    #: from the start of its process to its first step
    startup_s: float
    wall_s: float


@dataclass(frozen=True, kw_only=True)
class Running:
    """How far the running cell is; times since the start of its process."""

    cell: Cell
    steps: int
    steps_to_go: int | None
    #: None before the first step
    startup_s: float | None
    elapsed_s: float


@dataclass(frozen=True, kw_only=True)
class Left:
    """What is left."""

    seconds: float
    #: cells of which nothing can be said yet, left out of `seconds`
    unknown_cells: int


def time_left(taken: Sequence[Taken], running: Running | None, waiting: Sequence[Cell]) -> Left:
    """Add up what the running cell and the waiting ones will take."""
    known = [_whole(cell, taken) for cell in waiting]
    if running is not None:
        known.append(_rest(running, taken))
    return Left(seconds=sum(one for one in known if one is not None), unknown_cells=sum(one is None for one in known))


def _whole(cell: Cell, taken: Sequence[Taken]) -> float | None:
    """Seconds of a cell: those of the nearest batch size in the same mode on the same device, steps in proportion."""
    alike = [one for one in taken if (one.cell.mode, one.cell.device) == (cell.mode, cell.device)]
    if not alike:
        return None
    nearest = min(alike, key=lambda one: abs(one.cell.batch_size - cell.batch_size))
    stepping_s = nearest.wall_s - nearest.startup_s
    return nearest.startup_s + stepping_s * cell.batch_size / nearest.cell.batch_size


def _rest(running: Running, taken: Sequence[Taken]) -> float | None:
    whole = _whole(running.cell, taken)
    if running.startup_s is not None and running.steps_to_go is not None and running.steps > 0:
        step_s = (running.elapsed_s - running.startup_s) / running.steps
        return running.steps_to_go * step_s
    return None if whole is None else max(0.0, whole - running.elapsed_s)


def words(left: Left) -> str:
    """'about 1 min 20 s left', and what that leaves out."""
    if left.seconds <= 0 and left.unknown_cells:
        return "time left not known yet"
    minutes, seconds = divmod(round(left.seconds), 60)
    amount = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
    if not left.unknown_cells:
        return f"about {amount} left"
    return f"about {amount} left, not counting {left.unknown_cells} of a kind that has not run yet"
