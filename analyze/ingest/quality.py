"""What was repaired, dropped, implausible or missing in one file, counted by cause with the first place of each."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from analyze import schema
from analyze.ingest.chunks import SEPARATOR

#: what each cause means for the answer
MEANING = {
    "repaired-event": "events whose text was not valid JSON and could be read after repair",
    "dropped-event": "events too damaged to read; everything else of the file is used",
    "repaired-cell": "argument values that are no JSON (NaN, inf, N/A); they are null",
    "untyped-cell": "argument values of another type than expected; they are null",
    "replaced-bytes": "bytes that are not UTF-8, shown as U+FFFD",
    "corrupt-name": "names holding control characters, grouped under <corrupt name>",
    "lone-backslash": "strings with single backslashes, taken literally",
    "truncated": "the file ends before its event list does; all complete events are used",
    "damaged-compression": "the compressed data end early or are damaged; what came before is used",
    "zero-timestamp": "events at time 0 in a trace whose clock does not start there; kept out of every sum",
    "missing-timestamp": "timed events without a start; kept out of every sum",
    "implausible-timestamp": "events more than a day away from the others; kept out of every sum",
    "negative-duration": "events that end before they start; kept out of every sum",
    "implausible-duration": "events longer than a day; kept out of every sum",
    "unfinished": "events that had not ended when recording stopped; their duration is unknown",
    "base-time-ignored": "a base time beside times that are absolute already; it is not added",
    "repaired-header": "metadata around the event list that was not valid JSON and could be read after repair",
    "unreadable-header": "metadata around the event list that could not be read",
    "no-timed-events": "the file holds no timed event",
    "device-activity-missing": "host calls that start device work, and no device work: device figures are unknown",
    "duplicate-correlation": "correlation ids shared by several host calls; they are ambiguous",
    "missing-correlation": "device work without a correlation id; its launch is unknown",
    "event-cap": "the number of events is a round cap: the writer probably stopped there",
    "unpaired-event": "begin or end events without their partner",
    "not-cached": "the parsed trace was not kept for the next time",
}


class Places:
    """Finds the byte offset of a chunk's events, which is asked for rarely and so never worked out in advance."""

    def __init__(self, text: bytes, offset: int) -> None:
        self.text = text
        self.offset = offset

    def of(self, row: int) -> int:
        """Byte offset of event `row` in the decompressed file; approximate where events before it were dropped."""
        begins = [0, *(match.end() - 1 for match in SEPARATOR.finditer(self.text))]
        return self.offset + begins[min(row, len(begins) - 1)]


@dataclass
class QualityLog:
    """Counts by cause; merged across chunks and worker processes."""

    counts: dict[str, int] = field(default_factory=dict)
    first_bytes: dict[str, int] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)

    def add(self, cause: str, count: int = 1, first_byte: int | None = None, detail: str | None = None) -> None:
        """Count `count` more of `cause`."""
        if count:
            self.counts[cause] = self.counts.get(cause, 0) + count
        if first_byte is not None:
            self.first_bytes[cause] = min(first_byte, self.first_bytes.get(cause, first_byte))
        if detail is not None:
            self.details.setdefault(cause, detail)

    def is_first(self, cause: str) -> bool:
        """Whether the place of this cause is not known yet."""
        return cause not in self.first_bytes

    def merge(self, other: QualityLog) -> None:
        """Add the counts of a later part of the same file."""
        for cause, count in other.counts.items():
            self.add(cause, count, other.first_bytes.get(cause), other.details.get(cause))

    def frame(self, file: str) -> pl.DataFrame:
        """All counts as a frame with the columns of `schema.DATA_QUALITY`."""
        rows = [
            {
                "cause": cause,
                "count": count,
                "first_byte": self.first_bytes.get(cause),
                "detail": self.details.get(cause, MEANING.get(cause, "")),
                "file": file,
            }
            for cause, count in sorted(self.counts.items())
        ]
        return pl.DataFrame(rows, schema={column.name: column.dtype for column in schema.DATA_QUALITY})
