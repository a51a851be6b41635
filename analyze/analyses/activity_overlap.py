"""Which kinds of device work run alone, and which at the same time?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.analyses._device_work import by_device, device_work
from analyze.intervals import intersect, of_frame, subtract, total, union
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Spans

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("activity", pl.String, "", "what runs at the same time: compute, communication, copy, joined by '+'"),
    Column("total_ns", pl.Int64, "ns", "time in which exactly these run; rows of a device do not overlap"),
    Column("busy_fraction", pl.Float64, "", "share of the device's busy time"),
)
NAMES = ("compute", "communication", "copy")


def activity_overlap(kernels: pl.DataFrame, copies: pl.DataFrame | None = None) -> pl.DataFrame:
    """Busy time of each device over the whole recording, by what ran together; combinations that never occur are left out."""
    kind = pl.col("kind")
    rows = []
    for device, mine in by_device(device_work(kernels, copies)):
        sets = (
            of_frame(mine.filter(~kind.is_in(["collective", "memcpy"]))),
            of_frame(mine.filter(kind == "collective")),
            of_frame(mine.filter(kind == "memcpy")),
        )
        busy = total(union(*sets))
        exact = {activity: total(_exactly(sets, members)) for activity, members in _combinations().items()}
        rows += [(device, activity, ns, ns / busy) for activity, ns in exact.items() if ns > 0]
    return pl.DataFrame(rows, schema={column.name: column.dtype for column in COLUMNS}, orient="row")


def _combinations() -> dict[str, tuple[int, ...]]:
    members = [tuple(index for index in range(3) if mask >> index & 1) for mask in range(1, 8)]
    return {"+".join(NAMES[index] for index in each): each for each in sorted(members, key=lambda each: (len(each), each))}


def _exactly(sets: tuple[Spans, ...], members: tuple[int, ...]) -> Spans:
    """Where all the members run and none of the others."""
    both = sets[members[0]]
    for index in members[1:]:
        both = intersect(both, sets[index])
    return subtract(both, union(*(spans for index, spans in enumerate(sets) if index not in members)))
