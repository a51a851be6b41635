"""How is the next block decompressed while the last one is being decoded? By one thread, one block ahead."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

    from typing_extensions import Self

    from analyze.ingest.streams import Decompressed


class Prefetched:
    """A Decompressed stream whose next block is read ahead: inflating needs no interpreter lock."""

    def __init__(self, stream: Decompressed) -> None:
        self.stream = stream
        self.thread = ThreadPoolExecutor(1)
        self.ahead: Future[bytes] | None = None

    @property
    def damage(self) -> str | None:
        """What was wrong with the compression, once the end was reached."""
        return self.stream.damage

    def read(self, size: int, before: bytes = b"", /) -> bytes:
        """Return `before` and exactly `size` bytes more, fewer only at the end; blocks must be of one size."""
        block = self.stream.read(size) if self.ahead is None else self.ahead.result()
        self.ahead = self.thread.submit(self.stream.read, size) if len(block) == size else None
        return before + block if before else block

    def skip(self, size: int) -> None:
        """Move on by `size` bytes without keeping them; only before the first read."""
        self.stream.skip(size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.thread.shutdown(cancel_futures=True)
