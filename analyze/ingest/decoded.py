"""Events of one chunk as the Python reader decoded them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.ingest import cells
from analyze.ingest.names import readable
from analyze.ingest.timestamps import durations, nanoseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

    from analyze.ingest.arguments import ArgumentReader
    from analyze.ingest.event import Event
    from analyze.ingest.quality import QualityLog

    Rows = np.ndarray[Any, np.dtype[np.int64]]


class DecodedEvents:
    """Columns of decoded events; rows are counted within the chunk."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events
        self._texts: np.ndarray[Any, np.dtype[np.object_]] | None = None

    def __len__(self) -> int:
        return len(self.events)

    def ends(self, count: int) -> list[Event]:
        """The first and the last `count` events; some twice where there are fewer."""
        return [*self.events[:count], *self.events[-count:]]

    def starts(self, phases: Sequence[str]) -> pl.Series:
        """Start of the events of these phases, in ns."""
        return nanoseconds([event.ts for event in self.events if event.ph in phases])[0]

    def base(self, quality: QualityLog) -> dict[str, pl.Series]:
        """Columns that every family has, and the phase."""
        events = self.events
        name, corrupt = readable(cells.texts([event.name for event in events])[0].alias("name"))
        start, bad_starts = nanoseconds([event.ts for event in events])
        duration, bad_durations = durations([event.dur for event in events])
        quality.add("untyped-cell", bad_starts + bad_durations)
        quality.add("corrupt-name", corrupt)
        return {
            "name": name,
            "category": cells.texts([event.cat for event in events])[0],
            "process": cells.lanes([event.pid for event in events]),
            "thread": cells.lanes([event.tid for event in events]),
            "start_ns": start,
            "dur_ns": duration,
            "phase": cells.texts([event.ph for event in events])[0],
        }

    def argument_texts(self, rows: Rows) -> list[msgspec.Raw]:
        """The arguments' own JSON text."""
        if self._texts is None:
            self._texts = np.fromiter([event.args for event in self.events], object, len(self.events))
        found: list[msgspec.Raw] = self._texts[rows].tolist()
        return found

    def arguments(self, reader: ArgumentReader, rows: Rows, quality: QualityLog) -> tuple[dict[str, pl.Series], int | None]:
        """Columns of the rows' arguments, and the row of the first that could not be typed."""
        return reader.read(self.argument_texts(rows), quality)

    def flow_ids(self, rows: Rows) -> pl.Series:
        """Ids as text, null where there is none."""
        ids = [self.events[row].id for row in rows.tolist()]
        return pl.Series([None if each is None else str(each) for each in ids], dtype=pl.String)
