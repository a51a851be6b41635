"""Events of one chunk as columns, read by the compiled reader where the text is sound."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from analyze.ingest.compiled.library import ROWS_FULL, Interned, address, library, with_room
from analyze.ingest.event import EVENT, Event
from analyze.ingest.names import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.ingest.arguments import ArgumentReader
    from analyze.ingest.quality import QualityLog

    Rows = np.ndarray[Any, np.dtype[np.int64]]

#: text per event: rows are made for so many at first, and for as many as there can be where that was too few
USUAL_EVENT_BYTES, SHORTEST_EVENT_BYTES = 64, len('{"ph":"X"},')
LABELS = ("phase", "category", "name", "process", "thread")
NUMBERS = ("start_ns", "dur_ns", "id", "begin", "event_length", "arguments", "arguments_length")
HAS_START, HAS_DURATION, HAS_ID = 1, 2, 4
TEXT = msgspec.json.Decoder(str)


class ScannedEvents:
    """What `DecodedEvents` is, from columns; see there."""

    def __init__(self, text: bytes, count: int, columns: dict[str, Any], known: pl.Series) -> None:
        self.text = text
        self.count = count
        self.columns = columns
        self.known = known

    def __len__(self) -> int:
        return self.count

    def ends(self, count: int) -> list[Event]:
        """The first and the last `count` events, decoded; some twice where there are fewer."""
        begins, lengths = (self.columns[name] for name in ("begin", "event_length"))
        spans = zip([*begins[:count], *begins[-count:]], [*lengths[:count], *lengths[-count:]], strict=True)
        return [EVENT.decode(self.text[begin : begin + length]) for begin, length in spans]

    def starts(self, phases: Sequence[str]) -> pl.Series:
        """Start of the events of these phases, in ns."""
        chosen = self._labels("phase").cast(pl.String).is_in(phases)
        starts: pl.Series = self._where(HAS_START, "start_ns").filter(chosen)
        return starts

    def base(self, quality: QualityLog) -> dict[str, pl.Series]:
        """Columns that every family has, and the phase."""
        name, corrupt = readable(self._labels("name").alias("name"))
        quality.add("corrupt-name", corrupt)
        return {
            "name": name,
            "category": self._labels("category"),
            "process": self._labels("process"),
            "thread": self._labels("thread"),
            "start_ns": self._where(HAS_START, "start_ns"),
            "dur_ns": self._where(HAS_DURATION, "dur_ns"),
            "phase": self._labels("phase"),
        }

    def argument_texts(self, rows: Rows) -> list[msgspec.Raw]:
        """The arguments' own JSON text."""
        begins, lengths = self.columns["arguments"][rows].tolist(), self.columns["arguments_length"][rows].tolist()
        text = self.text
        return [
            msgspec.Raw(text[begin : begin + length] if begin >= 0 else b"null")
            for begin, length in zip(begins, lengths, strict=True)
        ]

    def arguments(self, reader: ArgumentReader, rows: Rows, quality: QualityLog) -> tuple[dict[str, pl.Series], int | None]:
        """Columns of the rows' arguments, and the row of the first that could not be typed."""
        found = reader.scan(self.text, self.columns["arguments"][rows], self.columns["arguments_length"][rows])
        return reader.read(self.argument_texts(rows), quality) if found is None else (found, None)

    def flow_ids(self, rows: Rows) -> pl.Series:
        """Ids as text, null where there is none."""
        ids: pl.Series = self._where(HAS_ID, "id").gather(rows).cast(pl.String)
        return ids

    def _labels(self, name: str) -> pl.Series:
        return gathered(self.known, self.columns[name])

    def _where(self, bit: int, name: str) -> pl.Series:
        return masked(pl.Series(self.columns[name]), (self.columns["has"] & bit) != 0)


def scanned(text: bytes) -> tuple[ScannedEvents, int] | None:
    """Events of sound text and the offset behind the bracket that closes the list, -1 where none does.

    None where there is no compiled reader or it gave up: the text may still be sound, and Python must read it.
    """
    reader = library()
    if reader is None:
        return None
    for event_bytes in (USUAL_EVENT_BYTES, SHORTEST_EVENT_BYTES):
        count, columns, interned, closed = _read(reader, text, len(text) // event_bytes + 1)
        if count != ROWS_FULL:
            break
    if count <= 0:
        return None
    known = texts(interned.texts(text))
    if known is None:
        return None
    return ScannedEvents(text, count, {name: column[:count] for name, column in columns.items()}, known), closed


def _read(reader: ctypes.CDLL, text: bytes, room: int) -> tuple[int, dict[str, Any], Interned, int]:
    columns: dict[str, Any] = {name: np.empty(room, np.int32) for name in LABELS}
    columns |= {name: np.empty(room, np.int64) for name in NUMBERS}
    columns["has"] = np.empty(room, np.uint8)
    closed = np.zeros(1, np.int64)

    def call(interned: Interned) -> int:
        count: int = reader.stepscope_events(
            ctypes.c_char_p(text),
            ctypes.c_int64(len(text)),
            ctypes.c_int64(room),
            address(closed),
            *(address(column) for column in columns.values()),
            *interned.arguments(),
        )
        return count

    count, interned = with_room(call)
    return count, columns, interned, int(closed[0])


def texts(distinct: Sequence[bytes]) -> pl.Series | None:
    """Categorical of JSON strings' contents; None where one is no sound string."""
    try:
        shown = [TEXT.decode(b'"' + each + b'"') if b"\\" in each else each.decode() for each in distinct]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return pl.Series(shown, dtype=pl.Categorical)


def gathered(known: pl.Series, codes: np.ndarray[Any, Any]) -> pl.Series:
    """The texts with these numbers; null where the number is negative."""
    if len(codes) and codes.min() >= 0:
        return known.gather(codes)
    return known.gather(masked(pl.Series(codes), codes >= 0))


def masked(values: pl.Series, valid: np.ndarray[Any, Any]) -> pl.Series:
    """The values, null where they are not valid."""
    if valid.all():
        return values
    nothing = pl.Series([None], dtype=values.dtype).new_from_index(0, len(values))
    shown: pl.Series = values.zip_with(pl.Series(valid), nothing)
    return shown
