"""How are several files, or one large one, divided among worker processes?"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.errors import StepscopeError
from analyze.ingest import cache
from analyze.ingest.chunks import HEADER_BYTES
from analyze.ingest.load import is_large, json_size, nearest_size
from analyze.ingest.parse import FileParser
from analyze.ingest.parsed import summed_up
from analyze.ingest.pool import Pool, stretches, worker_count
from analyze.ingest.recording import Progress, SetAside
from analyze.ingest.salvage import LoneBackslashes
from analyze.ingest.streams import Decompressed
from analyze.ingest.worker import Job, Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from analyze.ingest.identity import Loaded
    from analyze.ingest.load import Loader
    from analyze.ingest.parsed import Parsed
    from analyze.ingest.sources import Source


@dataclass(kw_only=True)
class Shared:
    """One file being read by workers."""

    source: Source
    key: str | None
    folder: Path
    jobs: list[Job]
    #: of the header, read here where the file is split; workers on whole files send it
    header: Result | None = None
    json_bytes: int = 0


def load_in_parallel(loader: Loader, waiting: Sequence[tuple[Source, str | None]], aside: list[SetAside]) -> list[Loaded]:
    """Load the files with as many processes as allowed; one that cannot be read is set aside."""
    count = loader.processes or worker_count()
    if count == 1:
        return _one_by_one(loader, waiting, aside)
    loaded = []
    with ExitStack() as stack:
        # largest first: a large file begun last would keep one worker busy while the others idle
        order = sorted(waiting, key=lambda each: -json_size(each[0].local))
        shared = [_shared(loader, source, key, stack) for source, key in order]
        pool = stack.enter_context(Pool(count))
        for each in shared:
            if len(shared) < count and is_large(each.json_bytes):
                _split(loader, each, count)
        pending = shared
        while pending:
            results = _run(loader, pool, pending)
            again = []
            for each, found in zip(pending, results, strict=True):
                if any(result.needs_literal_backslashes for result in found) and not each.jobs[0].literal_backslashes:
                    _split(loader, each, count, literal=True)
                    again.append(each)
                    continue
                try:
                    loaded.append(loader.finished(each.source, each.key, each.folder, _parsed(loader, each, found)))
                except (StepscopeError, OSError) as problem:
                    aside.append(SetAside(file=each.source.name, reason=str(problem)))
            pending = again
    return loaded


def _one_by_one(loader: Loader, waiting: Sequence[tuple[Source, str | None]], aside: list[SetAside]) -> list[Loaded]:
    loaded: list[Loaded] = []
    for source, key in waiting:
        loader.try_here(source, key, loaded, aside)
    return loaded


def _shared(loader: Loader, source: Source, key: str | None, stack: ExitStack) -> Shared:
    folder = stack.enter_context(cache.new_entry(loader.cache)) if loader.cache else loader.folder.new_folder()
    job = Job(number=0, path=str(source.local), folder=str(folder), prefix="0", limits=loader.limits)
    return Shared(source=source, key=key, folder=folder, jobs=[job], json_bytes=json_size(source.local))


def _split(loader: Loader, shared: Shared, count: int, *, literal: bool = False) -> None:
    """Read the beginning here and give each worker a stretch; a file that refuses is left to one worker to refuse."""
    try:
        with Decompressed(shared.source.local, loader.limits) as stream:
            parser = FileParser(stream, literal=literal)
            size = shared.source.local.stat().st_size
            if stream.is_compressed:
                expansion = stream.produced / max(1, stream.stored.count)
                shared.json_bytes = nearest_size(shared.json_bytes % 2**32, int(size * expansion))
    except LoneBackslashes:
        _split(loader, shared, count, literal=True)
        return
    except (StepscopeError, OSError):
        return
    job = shared.jobs[0]
    job.plan, job.literal_backslashes = parser.plan, literal
    shared.header = Result(
        number=0,
        plan=parser.plan,
        header=parser.header,
        header_quality=parser.header_quality,
        events_offset=parser.events_offset,
    )
    job.start = job.stop = None
    job.prefix = "literal" if literal else "0"
    shared.jobs = stretches(job, parser.events_offset, shared.json_bytes, count)


def _run(loader: Loader, pool: Pool, shared: Sequence[Shared]) -> list[list[Result]]:
    """Run all jobs, reporting each file's progress as the share of its JSON that was read."""
    jobs = [job for each in shared for job in each.jobs]
    owner: dict[int, Shared] = {}
    for number, job in enumerate(jobs):
        job.number = number
    for each in shared:
        owner |= {job.number: each for job in each.jobs}
    reached: dict[int, int] = {}

    def tick(result: Result) -> None:
        each = owner[result.number]
        reached[result.number] = result.reached or 0
        done = sum(max(0, reached.get(job.number, 0) - (job.start or 0)) for job in each.jobs)
        size = each.source.local.stat().st_size
        share = min(1.0, done / max(1, each.json_bytes))
        loader.progress(Progress(file=each.source.name, bytes_done=int(size * share), bytes_total=size))

    results = iter(pool.run(jobs, loader.check, tick))
    return [[next(results) for _ in each.jobs] for each in shared]


def _parsed(loader: Loader, shared: Shared, results: Sequence[Result]) -> Parsed:
    """Sum up one file's results; raises StepscopeError where one of them failed."""
    for result in results:
        if result.failure:
            raise StepscopeError(result.failure)
    first = shared.header or results[0]
    kept = []
    for result in results:
        kept.append(result)
        if result.stretch is not None and result.stretch.tail_offset is not None:
            break
    stretches_read = [result.stretch for result in kept if result.stretch is not None]
    if len(kept) < len(results):
        _read_tail(loader, shared, kept[-1])
    if first.plan is None:
        raise StepscopeError("the reading process gave no plan")
    parsed = summed_up(
        first.header,
        first.header_quality,
        first.plan,
        stretches_read,
        first.events_offset,
        shared.source.local.stat().st_size,
    )
    before = 0
    for result, stretch in zip(kept, stretches_read, strict=True):
        for family, names in result.files.items():
            parsed.parts.setdefault(family, []).extend((name, before) for name in names)
        before += stretch.events
    return parsed


def _read_tail(loader: Loader, shared: Shared, last: Result) -> None:
    """The event list closed before the last stretch: read what follows it here."""
    stretch = last.stretch
    if stretch is None or stretch.tail_offset is None:
        return
    with Decompressed(shared.source.local, loader.limits) as stream:
        stream.skip(stretch.tail_offset)
        stretch.tail = stream.read(HEADER_BYTES)
        stretch.end_offset = stretch.tail_offset + len(stretch.tail)
