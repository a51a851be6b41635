"""Which files lie under the paths given: local, remote, in folders, in archives inside archives?

Members of archives are copied out under names of our own making, one file each, within the limits while they are read:
nothing in an archive decides where a byte is written.
"""

from __future__ import annotations

import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from analyze.errors import InputError, LimitExceeded, StepscopeError
from analyze.ingest.streams import OUTPUT_BLOCK, Decompressed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from analyze.ingest.limits import Limits

ZIP = b"PK\x03\x04"
TAR_MARK, TAR_MARK_AT = b"ustar", 257
TAR_BLOCK = 512


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file to look at: where its bytes lie and what it is called."""

    #: file name for display and for what names tell; never used as a path
    name: str
    #: path or address, members of archives after '!'
    path: str
    #: local file with the bytes
    local: Path
    #: the user's own file, which stays; otherwise a copy that is deleted with the Recording
    is_original: bool = True


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A file that could not be opened, and why."""

    name: str
    reason: str


def sources(
    given: Sequence[str | os.PathLike[str]], limits: Limits, spool: Callable[[], Path], check: Callable[[], None]
) -> Iterator[Source | Refused]:
    """Every file under the paths, archives opened; raises InputError where a path does not exist."""
    for each in given:
        for source in _located(str(each), limits, spool, check):
            yield from _opened(source, limits, spool, check, 0)


def _located(given: str, limits: Limits, spool: Callable[[], Path], check: Callable[[], None]) -> Iterator[Source]:
    if given.startswith("file://"):
        given = unquote(urlsplit(given).path)
    if "://" in given:
        from analyze.ingest.remote import fetched  # noqa: PLC0415  # fsspec is slow to import

        yield from fetched(given, limits, spool, check)
        return
    path = Path(given)
    if path.is_dir():
        yield from _folder(path, limits)
    elif path.exists():
        yield Source(name=path.name, path=str(path), local=path)
    else:
        raise InputError(f"{given}: there is no such file or folder")


def _folder(path: Path, limits: Limits) -> Iterator[Source]:
    found = 0
    for child in sorted(path.rglob("*")):
        if any(part.startswith(".") for part in child.relative_to(path).parts) or not child.is_file():
            continue
        found += 1
        limits.check_members(found)
        yield Source(name=child.name, path=str(child), local=child)


def _opened(
    source: Source, limits: Limits, spool: Callable[[], Path], check: Callable[[], None], depth: int
) -> Iterator[Source | Refused]:
    """Yield the file itself, or the files of the archive that it is."""
    try:
        kind = _archive_kind(source.local, limits)
        if kind is None:
            yield source
            return
        limits.check_nesting(depth + 1)
        members = _zip_members(source.local, limits) if kind == "zip" else _tar_members(source.local, limits)
        for name, content, stored in members:
            copy = spool()
            try:
                _copy(content, stored, copy, limits, check)
            except (LimitExceeded, OSError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, EOFError) as problem:
                copy.unlink(missing_ok=True)
                yield Refused(name=f"{source.name}!{name}", reason=str(problem))
                continue
            inner = Source(name=last_part(name), path=f"{source.path}!{name}", local=copy, is_original=False)
            yield from _opened(inner, limits, spool, check, depth + 1)
    except (StepscopeError, OSError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, EOFError) as problem:
        yield Refused(name=source.name, reason=str(problem) or type(problem).__name__)


def _archive_kind(path: Path, limits: Limits) -> str | None:
    with path.open("rb") as file:
        if file.read(4) == ZIP:
            return "zip"
    with Decompressed(path, limits) as stream:
        head = stream.read(TAR_BLOCK)
    return "tar" if head[TAR_MARK_AT : TAR_MARK_AT + len(TAR_MARK)] == TAR_MARK else None


def _zip_members(path: Path, limits: Limits) -> Iterator[tuple[str, IO[bytes], int | None]]:
    with zipfile.ZipFile(path) as archive:
        members = [each for each in archive.infolist() if not each.is_dir() and not _hidden(each.filename)]
        limits.check_members(len(members))
        for each in members:
            with archive.open(each) as content:
                yield each.filename, content, each.compress_size


def _tar_members(path: Path, limits: Limits) -> Iterator[tuple[str, IO[bytes], int | None]]:
    with Decompressed(path, limits) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
        found = 0
        for each in archive:
            content = archive.extractfile(each) if each.isfile() and not _hidden(each.name) else None
            if content is None:
                continue
            found += 1
            limits.check_members(found)
            yield each.name, content, None


def _copy(content: IO[bytes], stored: int | None, copy: Path, limits: Limits, check: Callable[[], None]) -> None:
    written = 0
    with copy.open("wb") as out:
        while block := content.read(OUTPUT_BLOCK):
            check()
            written += len(block)
            limits.check_size(written, written if stored is None else stored)
            out.write(block)


def last_part(name: str) -> str:
    """File name at the end of a path written on any system."""
    return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


def _hidden(name: str) -> bool:
    """Skip files that only an operating system cares for."""
    parts = name.replace("\\", "/").split("/")
    return parts[-1].startswith(".") or "__MACOSX" in parts
