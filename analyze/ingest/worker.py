"""A process that parses stretches of trace files: jobs come in on stdin, results go out on stdout, a line each."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from analyze.errors import StepscopeError
from analyze.ingest.limits import Limits  # noqa: TC001  # msgspec reads the annotations
from analyze.ingest.parse import FileParser, Plan, Stretch, parse_stretch
from analyze.ingest.quality import QualityLog
from analyze.ingest.salvage import LoneBackslashes
from analyze.ingest.store import FrameStore
from analyze.ingest.streams import Decompressed


@dataclass(kw_only=True)
class Job:
    """One stretch of a file, or the whole file where there is no plan."""

    number: int
    path: str
    folder: str
    prefix: str
    limits: Limits
    plan: Plan | None = None
    literal_backslashes: bool = False
    begin: int = 0
    start: int | None = None
    stop: int | None = None


@dataclass(kw_only=True)
class Result:
    """What a job found, or the byte it has reached, or why it failed."""

    number: int
    reached: int | None = None
    failure: str | None = None
    needs_literal_backslashes: bool = False
    stretch: Stretch | None = None
    files: dict[str, list[str]] = field(default_factory=dict)
    plan: Plan | None = None
    header: dict[str, Any] = field(default_factory=dict)
    header_quality: QualityLog = field(default_factory=QualityLog)
    events_offset: int = 0


def main() -> None:
    """Serve jobs until stdin closes."""
    gc.disable()
    out = sys.stdout.buffer

    def send(result: Result) -> None:
        out.write(msgspec.json.encode(result) + b"\n")
        out.flush()

    for line in sys.stdin.buffer:
        job = msgspec.json.decode(line, type=Job)
        try:
            send(_done(job, send))
        except LoneBackslashes:
            send(Result(number=job.number, needs_literal_backslashes=True))
        except (StepscopeError, OSError) as problem:
            send(Result(number=job.number, failure=str(problem)))


def _done(job: Job, send: Any) -> Result:  # noqa: ANN401
    store = FrameStore(lambda: Path(job.folder), job.prefix)

    def tick(reached: int) -> None:
        send(Result(number=job.number, reached=reached))

    with Decompressed(Path(job.path), job.limits) as stream:
        if job.plan is None:
            result = _whole_file(stream, store, tick, literal=job.literal_backslashes)
        else:
            stretch = parse_stretch(stream, job.plan, job.start, job.begin, job.stop, store.take, tick)
            result = Result(number=0, stretch=stretch)
    store.write()
    result.number, result.files = job.number, store.files
    return result


def _whole_file(stream: Decompressed, store: FrameStore, tick: Any, *, literal: bool) -> Result:  # noqa: ANN401
    parser = FileParser(stream, literal=literal)
    stretch = parser.parse(store.take, tick)
    return Result(
        number=0,
        stretch=stretch,
        plan=parser.plan,
        header=parser.header,
        header_quality=parser.header_quality,
        events_offset=parser.events_offset,
    )
