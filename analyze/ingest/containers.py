"""What is a file really, whatever it is called? Compression is recognised by the first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from typing import BinaryIO

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def open_decompressed(path: Path) -> BinaryIO:
    """Stream of the decompressed bytes."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == GZIP:
        from isal import igzip  # noqa: PLC0415  # loaded only where needed: start-up time

        return cast("BinaryIO", igzip.open(path, "rb"))
    if magic == ZSTD:
        import zstandard  # noqa: PLC0415

        return cast("BinaryIO", zstandard.open(path, "rb"))
    return path.open("rb")
