"""What does one stretch of a trace file hold? The loop from bytes to frames, in this process or in a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyze.errors import TraceFormatError
from analyze.ingest.assemble import Assembler
from analyze.ingest.chunks import ChunkReader
from analyze.ingest.event import NO_TEXT
from analyze.ingest.header import read_header
from analyze.ingest.plausible import reference_time
from analyze.ingest.producers import SHOWN_EVENTS, named, recognise
from analyze.ingest.quality import Places, QualityLog
from analyze.ingest.salvage import EventText

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from analyze.ingest.chunks import Chunk
    from analyze.ingest.compiled.events import ScannedEvents
    from analyze.ingest.decoded import DecodedEvents
    from analyze.ingest.prefetch import Prefetched
    from analyze.ingest.producer import Producer
    from analyze.ingest.streams import Decompressed

#: frames of so much JSON are held before they are flushed: memory stays flat, row groups stay large
FLUSH_BYTES = 128 << 20
#: an event that is not complete within so much text never will be
LONGEST_EVENT_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What the first chunk of a file tells, which every worker on that file must know."""

    producer: str
    reference_ns: int | None
    literal_backslashes: bool = False


@dataclass(kw_only=True)
class Stretch:
    """What reading one stretch of a file found, beside the frames that went to the sink."""

    events: int = 0
    categories: dict[str, int] = field(default_factory=dict)
    quality: QualityLog = field(default_factory=QualityLog)
    #: byte after the event list's closing bracket; None where it did not close in this stretch
    tail_offset: int | None = None
    #: what follows the event list, where this stretch ran to the end of the file
    tail: bytes | None = None
    end_offset: int = 0
    damage: str | None = None


class FileParser:
    """Reads one trace file from the beginning: header, plan, then all events."""

    def __init__(self, stream: Decompressed | Prefetched, *, literal: bool = False) -> None:
        self.reader = ChunkReader(stream)
        self.found = Stretch()
        self.literal = literal
        self.header_quality = QualityLog()
        self.header: dict[str, Any] = read_header(self.reader.header(), self.header_quality)
        self.events_offset = self.reader.offset
        self.text = EventText(self.found.quality, literal=literal)
        self.chunks = self.reader.chunks()
        self.first_chunk = next(self.chunks)
        self.first_events = self.text.read(self.first_chunk)
        self.producer = self._recognise()
        self.reference_ns = reference_time(self.first_events)

    def _recognise(self) -> Producer:
        shown = self.first_events.ends(SHOWN_EVENTS)
        if self.reader.is_list and shown and not any(event.ph or event.ts is not NO_TEXT for event in shown):
            raise TraceFormatError("no Chrome trace: its list holds no events (they would have a phase 'ph')")
        if self.reader.is_list and not shown and self.first_chunk.text.strip(b" \t\r\n,]"):
            raise TraceFormatError("no Chrome trace: its list holds no events")
        return recognise(self.header, shown)

    @property
    def plan(self) -> Plan:
        """What workers must know."""
        return Plan(producer=self.producer.name, reference_ns=self.reference_ns, literal_backslashes=self.literal)

    @property
    def is_complete(self) -> bool:
        """Whether the first chunk already was the whole file."""
        return self.first_chunk.is_last

    def parse(self, sink: Callable[[dict[str, pl.DataFrame]], None], tick: Callable[[int], None]) -> Stretch:
        """Send all frames to the sink; `tick` hears the byte reached after each chunk and may raise."""
        loop = Loop(self.reader, self.text, Assembler(self.producer, self.found.quality, self.reference_ns), self.found)
        loop.take(self.first_chunk, self.first_events)
        for chunk in self.chunks:
            tick(chunk.offset)
            loop.next(chunk, sink)
        return loop.close(sink, is_list=self.reader.is_list)


def parse_stretch(
    stream: Decompressed,
    plan: Plan,
    start: int | None,
    begin: int,
    stop: int | None,
    sink: Callable[[dict[str, pl.DataFrame]], None],
    tick: Callable[[int], None],
) -> Stretch:
    """Read the events between two bytes; `start` None means the event list's own beginning `begin`."""
    found = Stretch()
    reader = ChunkReader(stream)
    if start is None:
        stream.skip(begin)
        reader.offset = begin
    else:
        reader.begin_at(start)
    text = EventText(found.quality, literal=plan.literal_backslashes)
    loop = Loop(reader, text, Assembler(named(plan.producer), found.quality, plan.reference_ns), found)
    for chunk in reader.chunks(stop):
        tick(chunk.offset)
        loop.next(chunk, sink)
    return loop.close(sink, is_list=False, to_the_end=stop is None)


class Loop:
    """Chunk by chunk: decode, assemble, flush."""

    def __init__(self, reader: ChunkReader, text: EventText, assembler: Assembler, found: Stretch) -> None:
        self.reader = reader
        self.text = text
        self.assembler = assembler
        self.found = found
        self.held = 0
        self.tail_parts: list[bytes] = []

    def next(self, chunk: Chunk, sink: Callable[[dict[str, pl.DataFrame]], None]) -> None:
        """Decode and take one more chunk."""
        if self.text.tail is not None:
            self.tail_parts.append(chunk.text + chunk.between)
            self.found.end_offset = chunk.offset + len(chunk.text)
            return
        self.take(chunk, self.text.read(chunk))
        if self.held > FLUSH_BYTES:
            self.flush(sink)

    def take(self, chunk: Chunk, events: DecodedEvents | ScannedEvents) -> None:
        """Take one decoded chunk; an incomplete end is read again with what follows."""
        self.found.end_offset = chunk.offset + len(chunk.text)
        self.held += len(chunk.text)
        self.assembler.add(events, Places(chunk.text, chunk.offset))
        if self.text.tail is not None:
            self.tail_parts.append(chunk.between)
        if not self.text.unfinished:
            return
        if not chunk.is_last and len(self.text.unfinished) < LONGEST_EVENT_BYTES:
            self.reader.give_back(self.text.unfinished)
            return
        offset = self.found.end_offset - len(self.text.unfinished)
        self.found.quality.add("truncated" if chunk.is_last else "dropped-event", 1, offset)

    def flush(self, sink: Callable[[dict[str, pl.DataFrame]], None]) -> None:
        """Send what is held to the sink."""
        sink(self.assembler.take_frames())
        self.held = 0

    def close(self, sink: Callable[[dict[str, pl.DataFrame]], None], *, is_list: bool, to_the_end: bool = True) -> Stretch:
        """Flush and sum up; a file that ends before its event list is truncated."""
        found = self.found
        found.damage = self.reader.stream.damage
        if self.text.tail is not None:
            found.tail = self.text.tail + b"".join(self.tail_parts)
            found.tail_offset = self.text.tail_offset
        elif to_the_end and not is_list and "truncated" not in found.quality.counts:
            found.quality.add("truncated", 1, found.end_offset)
        if found.damage and to_the_end:
            found.quality.add("damaged-compression", 1, found.end_offset, found.damage)
        frames = self.assembler.take_frames()
        if self.assembler.lanes:
            frames["lanes"] = self.assembler.lane_frame()
        sink(frames)
        found.events = self.assembler.count
        found.categories = dict(self.assembler.categories)
        return found
