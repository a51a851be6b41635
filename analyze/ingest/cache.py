"""Was this very file parsed before? Parquet parts by content, bounded in size, safe against crashes and other writers."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from analyze import schema
from analyze.ingest.parsed import Parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

#: raised whenever the same file would be read to other frames
READER_VERSION = 1
ENTRY = "entry.json"
UNFINISHED = ".unfinished-"
LARGEST_BYTES = 10 * 10**9
#: entries used this recently may still be open somewhere
IN_USE_SECONDS = 3600.0
#: files up to this are hashed in full, larger ones at so many places together with size and time of change
FULL_HASH_BYTES = 256 << 20
SAMPLED_BLOCKS = 64
BLOCK_BYTES = 1 << 20


def cache_folder() -> Path | None:
    """Folder of the cache for this reader and schema, made where needed; None where none can be written."""
    chosen = os.environ.get("STEPSCOPE_CACHE_DIR")
    try:
        if chosen is None:
            from platformdirs import user_cache_dir  # noqa: PLC0415  # start-up time

            chosen = user_cache_dir("stepscope", appauthor=False)
        folder = Path(chosen) / f"traces-{_version()}"
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _version() -> str:
    """Short name of what decides how a file is read."""
    described = repr((READER_VERSION, sorted((name, columns) for name, columns in schema.FAMILIES.items())))
    return hashlib.sha256(described.encode()).hexdigest()[:12]


def content_key(path: Path) -> str:
    """Name of the file's content."""
    digest = hashlib.sha256()
    status = path.stat()
    with path.open("rb") as file:
        if status.st_size <= FULL_HASH_BYTES:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
        else:
            digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
            for number in range(SAMPLED_BLOCKS):
                file.seek((status.st_size - BLOCK_BYTES) * number // (SAMPLED_BLOCKS - 1))
                digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()[:32]


def load(folder: Path, key: str) -> tuple[Path, Parsed] | None:
    """Return the entry's folder and description; None where there is none or it is incomplete."""
    entry = folder / key
    try:
        parsed = msgspec.json.decode((entry / ENTRY).read_bytes(), type=Parsed)
    except (OSError, msgspec.DecodeError):
        return None
    if not all((entry / name).is_file() for parts in parsed.parts.values() for name, _ in parts):
        return None
    with contextlib.suppress(OSError):
        os.utime(entry / ENTRY)
    return entry, parsed


@contextlib.contextmanager
def new_entry(folder: Path) -> Iterator[Path]:
    """Give a folder to write an entry into, which vanishes unless `keep` renamed it."""
    unfinished = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
    try:
        yield unfinished
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def keep(unfinished: Path, folder: Path, key: str, parsed: Parsed) -> Path:
    """Give the finished entry its name in one step; where another writer was faster, theirs is as good."""
    (unfinished / ENTRY).write_bytes(msgspec.json.encode(parsed))
    entry = folder / key
    try:
        unfinished.rename(entry)
    except OSError:
        if load(folder, key) is None:
            shutil.rmtree(entry, ignore_errors=True)
            unfinished.rename(entry)
    return entry


def prune(folder: Path, largest_bytes: int = LARGEST_BYTES) -> None:
    """Delete the entries used longest ago until the rest fits, and what crashed writers left."""
    now = time.time()
    entries = []
    for entry in folder.iterdir():
        mark = entry / ENTRY if not entry.name.startswith(UNFINISHED) else entry
        with contextlib.suppress(OSError):
            size = sum(file.stat().st_size for file in entry.iterdir())
            entries.append((mark.stat().st_mtime, size, entry))
    total = sum(size for _, size, _ in entries)
    for used, size, entry in sorted(entries):
        crashed = entry.name.startswith(UNFINISHED) and now - used > IN_USE_SECONDS
        if crashed or (total > largest_bytes and now - used > IN_USE_SECONDS):
            shutil.rmtree(entry, ignore_errors=True)
            total -= size
