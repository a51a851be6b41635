"""How are gzip members read so that damage costs no more than it must?

The header and the trailer are read here and the data between them as raw deflate: a decompressor that checks them
itself throws away its output when a checksum is wrong.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyze.ingest.streams import Readable

MAGIC = b"\x1f\x8b"
#: what a damaged place in the compressed data costs at most is what one block holds
STORED_BLOCK = 1 << 14
OUTPUT_BLOCK = 1 << 20
RAW_DEFLATE = -15
FIXED_HEADER_BYTES, TRAILER_BYTES = 10, 8
HAS_CHECKSUM, HAS_EXTRA, HAS_NAME, HAS_COMMENT = 2, 4, 8, 16
LONGEST_HEADER_BYTES = 1 << 17


class Gunzip:
    """Gzip members one after the other; what precedes damage is given in full, then `damage` says what was wrong."""

    def __init__(self, source: Readable) -> None:
        from isal import isal_zlib  # noqa: PLC0415  # loaded only where needed: start-up time

        self.source = source
        self.zlib: Any = isal_zlib
        self.damage: str | None = None
        self.pending = b""
        self.inflate: Any = None
        self.members = 0
        self.checksum = self.size = 0
        #: a full answer may leave output inside the decompressor even where no input is left
        self.is_full = False

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; b'' at the end or where the rest is damaged."""
        while self.damage is None:
            if self.inflate is None and not self._begin_member():
                return b""
            if not self.pending and not self.is_full:
                self.pending = self.source.read(STORED_BLOCK)
                if not self.pending:
                    self.damage = "the compressed data end before their end mark"
                    return b""
            limit = min(size, OUTPUT_BLOCK)
            try:
                out: bytes = self.inflate.decompress(self.pending, limit)
            except (self.zlib.error, EOFError, ValueError) as problem:
                self.damage = f"the compressed data are damaged ({problem})"
                return b""
            self.pending, self.is_full = self.inflate.unconsumed_tail, len(out) == limit
            self.checksum, self.size = self.zlib.crc32(out, self.checksum), self.size + len(out)
            if self.inflate.eof:
                self._end_member()
            if out:
                return out
        return b""

    def _need(self, count: int) -> bool:
        """Fill `pending` to `count` bytes; False where the source ends before."""
        while len(self.pending) < count:
            more = self.source.read(STORED_BLOCK)
            if not more:
                return False
            self.pending += more
        return True

    def _begin_member(self) -> bool:
        """Another member may follow; zeros are padding, and anything else is not ours."""
        while self.members and not self.pending.strip(b"\0"):
            self.pending = self.source.read(STORED_BLOCK)
            if not self.pending:
                return False
        self.pending = self.pending.lstrip(b"\0") if self.members else self.pending
        length = self._header_length()
        if length is None:
            self.damage = (
                "something other than gzip follows the compressed data" if self.members else "its gzip header is damaged"
            )
            return False
        self.pending = self.pending[length:]
        self.inflate = self.zlib.decompressobj(RAW_DEFLATE)
        self.checksum = self.size = 0
        self.is_full = False
        return True

    def _header_length(self) -> int | None:
        if not self._need(FIXED_HEADER_BYTES) or not self.pending.startswith(MAGIC):
            return None
        flags, length = self.pending[3], FIXED_HEADER_BYTES
        if flags & HAS_EXTRA:
            if not self._need(length + 2):
                return None
            length += 2 + int(struct.unpack_from("<H", self.pending, length)[0])
        for flag in (HAS_NAME, HAS_COMMENT):
            if not flags & flag:
                continue
            while (end := self.pending.find(b"\0", length)) < 0:
                if len(self.pending) > LONGEST_HEADER_BYTES or not self._need(len(self.pending) + 1):
                    return None
            length = end + 1
        length += 2 if flags & HAS_CHECKSUM else 0
        return length if self._need(length) else None

    def _end_member(self) -> None:
        self.pending = self.inflate.unused_data
        self.inflate = None
        self.members += 1
        if not self._need(TRAILER_BYTES):
            self.damage = "the compressed data end before their end mark"
            return
        checksum, size = struct.unpack_from("<II", self.pending)
        self.pending = self.pending[TRAILER_BYTES:]
        if (checksum, size) != (self.checksum, self.size % 2**32):
            self.damage = "the checksum of the compressed data is wrong"
