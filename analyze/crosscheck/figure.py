"""One number that both tools give: which question, of what, how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: HTA's names of what a device does, and ours
ACTIVITIES = {"COMPUTATION": "compute", "COMMUNICATION": "communication", "MEMORY": "copy"}


@dataclass(frozen=True)
class Figure:
    """A value of one trace."""

    question: str
    name: str
    value: float
    unit: str


def activity_name(kernel_types: Iterable[str]) -> str:
    """Our name of a combination of HTA's kernel types, members always in the same order."""
    members = {ACTIVITIES.get(each, each) for each in kernel_types}
    return "+".join(sorted(members, key=[*ACTIVITIES.values(), *sorted(members)].index))
