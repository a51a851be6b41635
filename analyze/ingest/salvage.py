"""How much of an event list can be read, however damaged, and what was wrong with the rest?

Sound text is decoded in one go. Where that fails, it is cut at the boundaries between events and decoded in runs that
grow while all is well and shrink where it is not, so that the cost stays near linear however many events are damaged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from analyze.errors import TraceFormatError
from analyze.ingest.chunks import EVENT_LIST, SEPARATOR, SPACE
from analyze.ingest.compiled.events import scanned
from analyze.ingest.decoded import DecodedEvents
from analyze.ingest.event import EVENT, EVENTS, TEXTS, Event
from analyze.ingest.repair import BAD_ESCAPE, is_utf8, literal_backslashes, repaired, valid_utf8

if TYPE_CHECKING:
    from analyze.ingest.chunks import Chunk
    from analyze.ingest.compiled.events import ScannedEvents
    from analyze.ingest.quality import QualityLog

AT_BYTE = re.compile(r"\(byte (\d+)\)$")
#: the event list closes, and only top-level keys or the file's end follow
LIST_END = re.compile(rb"\s*,*\s*\](?=\s*(?:,\s*\"[^\"\\]*\"\s*:|\}?\s*$))")
PHASE = b'"ph"'
#: pieces that may have to be joined where an argument holds a list of objects that look like events
JOINED_PIECES = 8
LONGEST_ESCAPE = len(r"\u0000")
LONGEST_RUN = 1 << 20


class LoneBackslashes(Exception):  # a signal to start over, not an error
    """The writer does not escape backslashes: every lone one in the file must be taken literally."""


class EventText:
    """Decodes the chunks of one file, counting what it had to repair or drop."""

    def __init__(self, quality: QualityLog, *, literal: bool = False) -> None:
        self.quality = quality
        self.literal = literal
        #: after the closing bracket of the event list, once it was seen
        self.tail: bytes | None = None
        self.tail_offset: int | None = None
        #: an incomplete event at the end of the last chunk, to be read again with the next one
        self.unfinished = b""
        #: (body, None) that decoded whole, or (None, mended text): the texts of the last chunk's events, in order
        self.bodies: list[tuple[bytes | None, bytes]] = []

    def read(self, chunk: Chunk) -> DecodedEvents | ScannedEvents:
        """Events of one chunk by the fastest reader that can read it; else as `decode`, but `texts` are not to be had."""
        # bytes that are not UTF-8 and lone backslashes are mended in Python
        if not self.literal and is_utf8(chunk.text) and (found := scanned(chunk.text)) is not None:
            self.unfinished, self.bodies = b"", []
            events, closed = found
            if closed >= 0:
                self._close(chunk.text[closed:].rstrip(SPACE), chunk.offset + closed)
            return events
        return DecodedEvents(self.decode(chunk))

    def decode(self, chunk: Chunk) -> list[Event]:
        """Events of one chunk; sets `tail` or `unfinished` where it ends in one."""
        self.unfinished, self.bodies = b"", []
        text = chunk.text if chunk.text.isascii() else valid_utf8(chunk.text, chunk.offset, self.quality)
        if self.literal:
            text = literal_backslashes(text)
        events = self._run(text, chunk.offset, may_close=True)
        return self._in_pieces(text, chunk) if events is None else events

    def texts(self) -> list[str]:
        """Texts of the events that the last `decode` returned."""
        found: list[str] = []
        for body, mended in self.bodies:
            raws = [mended] if body is None else TEXTS.decode(body)
            found += [bytes(raw).decode("utf-8", "replace") for raw in raws]
        return found

    def _run(self, text: bytes, offset: int, *, may_close: bool) -> list[Event] | None:
        """Events of sound text, up to the bracket that closes the list; None where it is not sound."""
        body = b"[" + text.strip(SPACE) + b"]"
        try:
            events = EVENTS.decode(body)
        except msgspec.DecodeError as problem:
            closing = _closing(body, problem)
            if closing is None or not may_close:
                return None
            lead = len(text) - len(text.lstrip(SPACE)) - 1
            self._close(body[closing:-1], offset + lead + closing)
            body = body[:closing]
            events = EVENTS.decode(body)
        self.bodies.append((body, b""))
        return events

    def _close(self, tail: bytes, offset: int) -> None:
        self.tail, self.tail_offset = tail, offset

    def _in_pieces(self, text: bytes, chunk: Chunk) -> list[Event]:
        starts = _event_starts(text)
        ends = [*starts[1:], len(text)]
        events: list[Event] = []
        at, run = 0, max(1, len(ends) // 8)
        while at < len(ends) and self.tail is None:
            until = min(at + run, len(ends))
            part = text[starts[at] : ends[until - 1]]
            decoded = self._run(part, chunk.offset + starts[at], may_close=until == len(ends))
            if decoded is not None:
                events += decoded
                at, run = until, min(run * 2, LONGEST_RUN)
            elif until - at > 1:
                run = max(1, (until - at) // 8)
            else:
                at = self._piece(text, starts, ends, at, chunk, events)
        return events

    def _piece(self, text: bytes, starts: list[int], ends: list[int], at: int, chunk: Chunk, events: list[Event]) -> int:
        """Read the damaged piece `at` by looser rules; returns the piece to go on with."""
        offset = chunk.offset + starts[at]
        for until in range(at + 1, min(at + JOINED_PIECES, len(ends)) + 1):
            elements = self._elements(text[starts[at] : ends[until - 1]], offset, may_close=until == len(ends))
            if elements is not None:
                events += elements
                return until
        piece = text[starts[at] : ends[at]]
        is_last = at == len(ends) - 1
        if is_last:
            piece = self._cut_tail(piece, offset)
        piece = piece.strip(SPACE)
        if not piece:
            return at + 1
        if EVENT_LIST.search(piece):
            raise TraceFormatError(f"a second trace begins near byte {offset}: two writers wrote into this file")
        illegal = BAD_ESCAPE.search(piece)
        # an escape at the very end may only be cut short
        if illegal and not self.literal and not (is_last and illegal.end() > len(piece) - LONGEST_ESCAPE):
            raise LoneBackslashes
        read = self._repaired(piece, offset)
        if read:
            events += read
        elif is_last and self.tail is None:
            self._cut_short(piece, text, offset, events)
        else:
            self.quality.add("dropped-event", 1, offset)
        return at + 1

    def _cut_short(self, piece: bytes, text: bytes, offset: int, events: list[Event]) -> None:
        """Take what is complete before a cut that left too little of an event to show where it begins."""
        end = len(piece)
        for _ in range(JOINED_PIECES):
            end = piece.rfind(b"}", 0, end)
            if end < 0:
                break
            elements = self._elements(piece[: end + 1], offset, may_close=False)
            if elements is not None:
                events += elements
                piece = piece[end + 1 :]
                break
        behind = len(text) - len(text.rstrip(SPACE))
        self.unfinished = text[len(text) - behind - len(piece) :] if piece.strip(SPACE) else b""

    def _repaired(self, piece: bytes, offset: int) -> list[Event]:
        mended = repaired(piece, offset, self.quality)
        if mended is None:
            return []
        self.bodies.append((None, mended[1]))
        return [mended[0]]

    def _elements(self, piece: bytes, offset: int, *, may_close: bool) -> list[Event] | None:
        """Events among elements that are valid JSON and partly no events (null, numbers, lists); None where they are not."""
        body = b"[" + piece.strip(SPACE) + b"]"
        try:
            elements = TEXTS.decode(body)
        except msgspec.DecodeError as problem:
            closing = _closing(body, problem)
            if closing is None or not may_close:
                return None
            self._close(body[closing:-1], offset + len(piece) - len(piece.lstrip(SPACE)) - 1 + closing)
            elements = TEXTS.decode(body[:closing])
        events = []
        for element in elements:
            try:
                events.append(EVENT.decode(element))
                self.bodies.append((None, bytes(element)))
            except msgspec.DecodeError:
                loose = self._repaired(bytes(element), offset) if bytes(element)[:1] == b"{" else []
                events += loose
                self.quality.add("dropped-event", not loose, offset)
        return events

    def _cut_tail(self, piece: bytes, offset: int) -> bytes:
        """Cut the chunk's last piece where the event list closes behind it."""
        for match in reversed(list(LIST_END.finditer(piece))):
            if _is_tail(piece[match.end() :]):
                self._close(piece[match.end() :], offset + match.end())
                return piece[: match.start()]
        return piece


def _is_tail(text: bytes) -> bool:
    """Whether the text can be the rest of the object that the event list belongs to."""
    rest = text.strip()
    if rest in (b"", b"}"):
        return True
    try:
        value = msgspec.json.decode(b"{" + rest.lstrip(SPACE), type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return False
    return not {"ph", "ts"} & value.keys()


def _event_starts(text: bytes) -> list[int]:
    """Where pieces begin: at boundaries behind which an event follows, and not an object within one's arguments."""
    starts = [0]
    found = [match.start() + 1 for match in SEPARATOR.finditer(text)]
    for begin, end in zip(found, [*found, len(text)][1:], strict=True):
        if text.find(PHASE, begin, end) >= 0:
            starts.append(begin)
    return starts


def _closing(body: bytes, problem: msgspec.DecodeError) -> int | None:
    """Offset behind the bracket that closes the event list, where decoding failed only for what follows it."""
    if "trailing characters" not in str(problem):
        return None
    found = AT_BYTE.search(str(problem))
    return body.rfind(b"]", 0, int(found[1]) - 1) + 1 if found else None
