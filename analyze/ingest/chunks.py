"""How is a trace of any size cut into pieces that hold whole events?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"
EVENT_LIST = re.compile(rb'"traceEvents"\s*:\s*\[')
KEY = rb'"(?:ph|name|cat|pid|tid|ts|id|args|dur|s)"'
#: between two events; the comma may be missing in damaged files
SEPARATOR = re.compile(rb"\}\s*,?\s*\{(?=\s*" + KEY + rb"\s*:)")
#: a header larger than this is no header
HEADER_BYTES = 64 << 20


@dataclass(frozen=True)
class Header:
    """Everything before the first event; `is_list` where the file is a bare array."""

    text: bytes
    is_list: bool
    has_events: bool


@dataclass(frozen=True)
class Chunk:
    """Whole events without the enclosing brackets; the last one also holds what follows the event list."""

    text: bytes
    #: of the first byte, in the decompressed file
    offset: int
    is_last: bool


def header_and_chunks(stream: BinaryIO, size: int = CHUNK_BYTES) -> Iterator[Header | Chunk]:
    """Yield the Header, then Chunks of about `size` bytes."""
    buffer, at_end = _read_header(stream, size)
    start = len(buffer) - len(buffer.removeprefix(BOM).lstrip())
    match = None
    if buffer[start : start + 1] == b"[":
        yield Header(b"", is_list=True, has_events=True)
        offset = start + 1
    else:
        match = EVENT_LIST.search(buffer)
        yield Header(buffer[start : match.start() if match else None], is_list=False, has_events=match is not None)
        if match is None:
            return
        offset = match.end()
    buffer = buffer[offset:]
    while True:
        cut = len(buffer) if at_end else _last_boundary(buffer)
        if at_end or (cut and len(buffer) >= size):
            yield Chunk(buffer[:cut], offset, at_end)
            if at_end:
                return
            offset += cut
            buffer = buffer[cut:].lstrip(b", \t\r\n") if False else buffer[cut:]
        more = stream.read(size)
        at_end = not more
        buffer += more


def _read_header(stream: BinaryIO, size: int) -> tuple[bytes, bool]:
    buffer = b""
    while len(buffer) < HEADER_BYTES:
        more = stream.read(size)
        buffer += more
        if not more:
            return buffer, True
        if buffer.removeprefix(BOM).lstrip()[:1] == b"[" or EVENT_LIST.search(buffer):
            break
    return buffer, False


def _last_boundary(buffer: bytes) -> int:
    """End of the last event that another one follows; 0 where there is none."""
    reach = 1 << 16
    while True:
        found = 0
        begin = max(0, len(buffer) - reach)
        for match in SEPARATOR.finditer(buffer, begin):
            found = match.start() + 1
        if found or begin == 0:
            return found
        reach *= 4
