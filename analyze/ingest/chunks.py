"""How is a trace of any size cut into pieces that hold whole events?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.errors import TraceFormatError
from analyze.ingest.foreign import refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.ingest.prefetch import Prefetched
    from analyze.ingest.streams import Decompressed

CHUNK_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"
EVENT_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
#: what an event may begin with
FIRST_KEY = rb'\s*"(?:ph|name|cat|pid|tid|ts|id|args|dur|s|bp|tts)"\s*:'
#: between two events; the comma may be missing in damaged files
SEPARATOR = re.compile(rb"\}[\s,]*\{(?=" + FIRST_KEY + rb")")
HEADER_BYTES = 64 << 20
SPACE = b", \t\r\n"
#: a search begins this far before the end and goes back further where it must
REACH_BYTES = 1 << 16


@dataclass(frozen=True)
class Chunk:
    """Whole events without the enclosing brackets; the last one may also hold what follows the event list."""

    text: bytes
    #: of the first byte, in the decompressed file
    offset: int
    #: the file ends here
    is_last: bool
    #: comma and spaces before what follows
    between: bytes = b""


class ChunkReader:
    """Reads the header, then the events chunk by chunk."""

    def __init__(self, stream: Decompressed | Prefetched, size: int = CHUNK_BYTES) -> None:
        self.stream = stream
        self.size = size
        self.buffer = b""
        self.offset = 0
        #: what stood between the last chunk and what follows it: a comma and spaces
        self.between = b""
        self.at_end = False
        self.is_list = False

    def header(self) -> bytes:
        """Text before the first event, '' for a bare array; raises TraceFormatError where there are no events."""
        while not self.at_end and len(self.buffer) < HEADER_BYTES:
            self._more()
            refuse_foreign(self.buffer[:16])
            start = len(self.buffer) - len(self.buffer.removeprefix(BOM).lstrip())
            if self.buffer[start : start + 1] == b"[":
                self.is_list = True
                self._drop(start + 1)
                return b""
            if found := EVENT_LIST.search(self.buffer):
                header = self.buffer[start : found.start()]
                self._drop(found.end())
                return header
        raise TraceFormatError("no Chrome trace: it has no list 'traceEvents'")

    def begin_at(self, start: int) -> None:
        """Move to the first boundary between events at or after byte `start` of the file."""
        self.stream.skip(start - 1)
        self.offset = start - 1
        while True:
            found = SEPARATOR.search(self.buffer)
            if found:
                self._drop(found.start() + 1)
                return
            if self.at_end:
                self._drop(len(self.buffer))
                return
            self._more()

    def chunks(self, stop: int | None = None) -> Iterator[Chunk]:
        """Yield chunks up to the first boundary at or after byte `stop`, else to the end of the file."""
        while True:
            if stop is not None and (cut := self._boundary_after(stop)) is not None:
                if self.buffer[:cut].strip(SPACE):
                    yield Chunk(self.buffer[:cut], self.offset, is_last=False)
                return
            if self.at_end:
                yield Chunk(self.buffer, self.offset, is_last=True)
                return
            boundary = self._last_boundary() if len(self.buffer) >= self.size // 2 else None
            if boundary is not None:
                cut, following = boundary
                text, offset = self.buffer[:cut], self.offset
                self.between = self.buffer[cut:following]
                self._drop(following)
                yield Chunk(text, offset, is_last=False, between=self.between)
            self._more()

    def give_back(self, text: bytes) -> None:
        """Put an incomplete last event before what is read next."""
        before = text + self.between
        self.buffer = before + self.buffer
        self.offset -= len(before)

    def _more(self) -> None:
        known = len(self.buffer)
        self.buffer = self.stream.read(self.size, self.buffer)
        self.at_end = len(self.buffer) - known < self.size

    def _drop(self, count: int) -> None:
        self.buffer = self.buffer[count:]
        self.offset += count

    def _boundary_after(self, stop: int) -> int | None:
        """Cut in the buffer at the first boundary at or after `stop`; the same one that `begin_at(stop)` finds."""
        if self.offset + len(self.buffer) < stop:
            return None
        found = SEPARATOR.search(self.buffer, max(0, stop - 1 - self.offset))
        return found.start() + 1 if found else None

    def _last_boundary(self) -> tuple[int, int] | None:
        """End of the last event that another one follows, and where that one begins; None where there is none."""
        reach = REACH_BYTES
        while True:
            found = None
            begin = max(0, len(self.buffer) - reach)
            for match in SEPARATOR.finditer(self.buffer, begin):
                found = match.start() + 1, match.end() - 1
            if found is not None or begin == 0:
                return found
            reach *= 4
