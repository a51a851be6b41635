"""How are a file's bytes decompressed, whatever the file is called and however its end is damaged?"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from analyze.ingest.gunzip import MAGIC as GZIP
from analyze.ingest.gunzip import Gunzip
from analyze.ingest.limits import Limits

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

ZSTD = b"\x28\xb5\x2f\xfd"
MAGIC_BYTES = 4
OUTPUT_BLOCK = 1 << 20


class Readable(Protocol):
    """What the readers below need of a source."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes; b'' at the end."""
        ...


class Prefixed:
    """A source whose first bytes were looked at and are given again."""

    def __init__(self, first: bytes, source: Readable) -> None:
        self.first = first
        self.source = source

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes."""
        if not self.first:
            return self.source.read(size)
        given, self.first = self.first[:size], self.first[size:]
        return given


class Unzstd:
    """Zstandard frames one after the other."""

    def __init__(self, source: Readable) -> None:
        import zstandard  # noqa: PLC0415

        self.stream = zstandard.ZstdDecompressor().stream_reader(cast("BinaryIO", source), read_across_frames=True)
        self.error = zstandard.ZstdError
        self.damage: str | None = None

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes."""
        if self.damage is not None:
            return b""
        try:
            out: bytes = self.stream.read(size)
        except self.error as problem:
            self.damage = f"the compressed data are damaged ({problem})"
            return b""
        return out


class Counted:
    """A file's stored bytes, counted for progress and for the expansion cap."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.count = 0

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes."""
        data = self.file.read(size)
        self.count += len(data)
        return data


class Decompressed:
    """The bytes inside any number of gzip and zstd layers, within the limits."""

    def __init__(self, path: Path, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.file = path.open("rb", buffering=0)
        self.stored = Counted(self.file)
        self.layers: list[Gunzip | Unzstd] = []
        self.produced = 0
        self.source: Readable = self.stored
        try:
            self._unwrap()
        except BaseException:
            self.file.close()
            raise

    def _unwrap(self) -> None:
        while True:
            first = self.source.read(MAGIC_BYTES)
            while len(first) < MAGIC_BYTES and (more := self.source.read(MAGIC_BYTES - len(first))):
                first += more
            self.source = Prefixed(first, self.source)
            if first[:2] != GZIP and first != ZSTD:
                return
            self.limits.check_nesting(len(self.layers) + 1)
            self.layers.append(Gunzip(self.source) if first[:2] == GZIP else Unzstd(self.source))
            self.source = self.layers[-1]

    @property
    def is_compressed(self) -> bool:
        """Whether there is any compression layer."""
        return bool(self.layers)

    @property
    def damage(self) -> str | None:
        """What was wrong with the compression, once the end was reached."""
        return next((layer.damage for layer in self.layers if layer.damage), None)

    def read(self, size: int, before: bytes = b"", /) -> bytes:
        """Return `before` and exactly `size` bytes more, fewer only at the end."""
        parts, wanted = [before] if before else [], size
        while wanted and (part := self.source.read(wanted)):
            parts.append(part)
            wanted -= len(part)
        self.produced += size - wanted
        self.limits.check_size(self.produced, self.stored.count if self.layers else self.produced)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, size: int) -> None:
        """Move on by `size` bytes without keeping them."""
        if not self.layers and self.file.seekable():
            first = self.source.first if isinstance(self.source, Prefixed) else b""
            if len(first) <= size:
                self.source = self.stored
                self.file.seek(size - len(first), 1)
                self.produced += size
                self.stored.count += size - len(first)
                return
        while size > 0 and (part := self.source.read(min(size, OUTPUT_BLOCK))):
            size -= len(part)
            self.produced += len(part)
        self.limits.check_size(self.produced, self.stored.count if self.layers else self.produced)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.file.close()
