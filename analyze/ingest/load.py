"""How does each file become frames: from the cache, in this process, or by several?"""

from __future__ import annotations

import struct
from contextlib import ExitStack
from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import StepscopeError
from analyze.ingest import cache
from analyze.ingest.gunzip import MAGIC as GZIP
from analyze.ingest.identity import Loaded
from analyze.ingest.parsed import Parsed, assess, finished, summed_up
from analyze.ingest.raw import raw_events
from analyze.ingest.recording import Progress, ReadCancelled, SetAside
from analyze.ingest.store import FrameStore, in_memory, scan, write_part
from analyze.ingest.streams import ZSTD, Decompressed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from analyze.ingest.limits import Limits
    from analyze.ingest.sources import Source
    from analyze.ingest.temporary import TemporaryFolder

#: below this much JSON, starting processes costs more than they save; so many times more where the compiled reader reads it
PARALLEL_BYTES = 100 << 20
COMPILED_SPEED_UP = 4
#: JSON over gzip, of Kineto's traces, where nothing better is known
USUAL_EXPANSION = 12
GZIP_SIZE = struct.Struct("<I")
GZIP_SIZE_WRAPS = 2**32
#: a size further off than this was not written by gzip: the file is cut short
PLAUSIBLE_RATIO = 20


class Loader:
    """Loads files for one `read`."""

    def __init__(
        self,
        limits: Limits,
        check: Callable[[], None],
        progress: Callable[[Progress], None],
        folder: TemporaryFolder,
        *,
        use_cache: bool,
        processes: int | None,
    ) -> None:
        self.limits = limits
        self.check = check
        self.progress = progress
        self.folder = folder
        self.processes = processes
        self.cache = cache.cache_folder() if use_cache else None
        self.not_cached = "no folder for it can be written" if use_cache and self.cache is None else None

    def load(self, found: Sequence[Source], aside: list[SetAside]) -> list[Loaded]:
        """Load all files; one that cannot be read is set aside with the reason."""
        loaded: list[Loaded] = []
        waiting: list[tuple[Source, str | None]] = []
        for source in found:
            self.check()
            key = cache.content_key(source.local) if self.cache else None
            entry = cache.load(self.cache, key) if self.cache and key else None
            if entry is None:
                waiting.append((source, key))
            else:
                loaded.append(self._scanned(source, *entry))
        total = sum(json_size(source.local) for source, _ in waiting)
        if waiting and is_large(total) and self.processes != 1:
            from analyze.ingest.parallel import load_in_parallel  # noqa: PLC0415  # needed for large files only

            loaded += load_in_parallel(self, waiting, aside)
        else:
            for source, key in waiting:
                self.try_here(source, key, loaded, aside)
        if self.cache is not None and waiting:
            cache.prune(self.cache)
        return loaded

    def try_here(self, source: Source, key: str | None, loaded: list[Loaded], aside: list[SetAside]) -> None:
        """Parse one file in this process, or set it aside."""
        try:
            loaded.append(self.load_here(source, key))
        except ReadCancelled:
            raise
        except (StepscopeError, OSError) as problem:
            aside.append(SetAside(file=source.name, reason=str(problem)))

    def load_here(self, source: Source, key: str | None) -> Loaded:
        """Parse one file in this process."""
        with ExitStack() as stack:
            folders: list[Path] = []

            def folder() -> Path:
                if not folders:
                    folders.append(stack.enter_context(cache.new_entry(self.cache)) if self.cache else self.folder.new_folder())
                return folders[0]

            parsed, store = self._parsed(source, folder)
            if store.held is not None and not store.files:
                held = store.held
                held |= finished(parsed, in_memory(held, 0))
                assess(parsed, in_memory(held, 0))
                if self.cache is not None and key is not None:
                    self._keep_held(store, folder, key, parsed)
                return self._loaded(source, parsed, in_memory(held, parsed.shift_ns))
            store.write()
            parsed.parts = {family: [(name, 0) for name in names] for family, names in store.files.items()}
            return self.finished(source, key, folder(), parsed)

    def _keep_held(self, store: FrameStore, folder: Callable[[], Path], key: str, parsed: Parsed) -> None:
        """Write frames in memory to the cache; a disk that is full costs the cache and not the trace."""
        try:
            store.write()
            parsed.parts = {family: [(name, 0) for name in names] for family, names in store.files.items()}
            self._keep(folder(), key, parsed)
        except (OSError, pl.exceptions.PolarsError) as problem:
            self.not_cached = str(problem)

    def finished(self, source: Source, key: str | None, folder: Path, parsed: Parsed) -> Loaded:
        """Complete and keep what was written to a folder."""
        for family, frame in finished(parsed, scan(folder, parsed.parts, 0)).items():
            name = f"{family}.finished.parquet"
            write_part(frame, folder / name)
            parsed.parts[family] = [(name, 0)]
        assess(parsed, scan(folder, parsed.parts, parsed.shift_ns))
        entry = self._keep(folder, key, parsed) if key is not None else None
        return self._scanned(source, entry or folder, parsed)

    def _keep(self, folder: Path, key: str, parsed: Parsed) -> Path | None:
        if self.cache is None:
            return None
        return cache.keep(folder, self.cache, key, parsed)

    def _parsed(self, source: Source, folder: Callable[[], Path]) -> tuple[Parsed, FrameStore]:
        # a file from the cache needs no reader
        from analyze.ingest.parse import FileParser  # noqa: PLC0415
        from analyze.ingest.prefetch import Prefetched  # noqa: PLC0415
        from analyze.ingest.salvage import LoneBackslashes  # noqa: PLC0415

        for literal in (False, True):
            store = FrameStore(folder)
            try:
                with Decompressed(source.local, self.limits) as stream, Prefetched(stream) as ahead:
                    parser = FileParser(ahead if stream.is_compressed else stream, literal=literal)
                    tick = self.ticker(source, lambda stream=stream: stream.stored.count)  # type: ignore[misc]
                    stretch = parser.parse(store.take, tick)
            except LoneBackslashes:
                continue
            size = source.local.stat().st_size
            return summed_up(parser.header, parser.header_quality, parser.plan, [stretch], parser.events_offset, size), store
        raise AssertionError  # literal backslashes never ask to start over

    def ticker(self, source: Source, done: Callable[[], int]) -> Callable[[int], None]:
        """A callback after each chunk that reports progress and notices a cancel."""
        size = source.local.stat().st_size

        def tick(_: int) -> None:
            self.check()
            self.progress(Progress(file=source.name, bytes_done=done(), bytes_total=size))

        return tick

    def _scanned(self, source: Source, folder: Path, parsed: Parsed) -> Loaded:
        return self._loaded(source, parsed, scan(folder, parsed.parts, parsed.shift_ns))

    def _loaded(self, source: Source, parsed: Parsed, frames: Mapping[str, pl.LazyFrame]) -> Loaded:
        if self.not_cached:
            parsed.quality.add("not-cached", 1, None, f"the parsed trace was not kept for the next time: {self.not_cached}")
        size = source.local.stat().st_size
        self.progress(Progress(file=source.name, bytes_done=size, bytes_total=size))
        raw = raw_events(source.local, self.limits, literal=parsed.literal_backslashes)
        return Loaded(
            source=source,
            parsed=parsed,
            frames={**frames, "raw": raw},
            data_quality=parsed.quality.frame(source.name),
        )


def is_large(json_bytes: int) -> bool:
    """Whether several processes read so much JSON sooner than one."""
    from analyze.ingest.compiled.library import library  # noqa: PLC0415

    return json_bytes > PARALLEL_BYTES * (COMPILED_SPEED_UP if library() else 1)


def json_size(path: Path) -> int:
    """About how much JSON a file holds, from its size and, for gzip, the size that its last bytes give."""
    stored = path.stat().st_size
    with path.open("rb") as file:
        magic = file.read(4)
        if magic == ZSTD:
            return stored * USUAL_EXPANSION
        if magic[:2] != GZIP:
            return stored
        file.seek(-min(stored, GZIP_SIZE.size), 2)
        remainder: int = GZIP_SIZE.unpack(file.read(GZIP_SIZE.size).rjust(GZIP_SIZE.size, b"\0"))[0]
    return nearest_size(remainder, stored * USUAL_EXPANSION)


def nearest_size(remainder: int, estimate: int) -> int:
    """Size nearest to the estimate that leaves this remainder: gzip gives sizes modulo 4 GiB."""
    wraps = max(0, round((estimate - remainder) / GZIP_SIZE_WRAPS))
    size = remainder + wraps * GZIP_SIZE_WRAPS
    return size if size < estimate * PLAUSIBLE_RATIO else estimate
