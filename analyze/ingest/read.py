"""From paths to a Recording: which files are there, what is each, and what does it hold?"""

from __future__ import annotations

import gc
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from analyze.errors import InputError, TraceFormatError
from analyze.ingest.identity import identified
from analyze.ingest.limits import Limits
from analyze.ingest.load import Loader
from analyze.ingest.recording import Progress, ReadCancelled, Recording, SetAside
from analyze.ingest.run_files import RunFiles
from analyze.ingest.sources import Refused, Source, sources
from analyze.ingest.temporary import TemporaryFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def read(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    cache: bool = True,
    processes: int | None = None,
) -> Recording:
    """Read every trace under the paths, with the run's own logs.

    A path is a trace, a run directory, a folder, an archive, or an address. `progress` hears of every step, `cancel` is
    asked often and ends the read by ReadCancelled where it answers true. `processes` is how many may parse at once;
    None lets the size decide. Raises InputError where nothing readable is there; what was set aside says why.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    limits = limits or Limits()
    folder = TemporaryFolder()

    def check() -> None:
        if cancel is not None and cancel():
            raise ReadCancelled("reading was cancelled")

    run = RunFiles()
    aside: list[SetAside] = []
    found: list[Source] = []
    with ExitStack() as stack:
        stack.callback(folder.delete)
        for each in sources(given, limits, folder.new_file, check):
            check()
            if isinstance(each, Refused):
                aside.append(SetAside(file=each.name, reason=each.reason))
            elif not run.take(each, aside):
                found.append(each)
        stack.enter_context(_without_collector())
        loader = Loader(limits, check, progress or _silent, folder, use_cache=cache, processes=processes)
        loaded = loader.load(found, aside)
        if not loaded and not run.manifests:
            raise _nothing(given, aside)
        return Recording(
            source=", ".join(str(each) for each in given),
            traces=identified(loaded, run.manifests, folder),
            manifests=run.manifests,
            step_log=run.step_log(),
            telemetry=run.telemetry(),
            telemetry_header=run.telemetry_headers,
            set_aside=tuple(aside),
            folder=folder.kept(),
        )


@contextmanager
def _without_collector() -> Iterator[None]:
    """Millions of short-lived objects without cycles: the collector would only cost time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _silent(_: Progress) -> None:
    """Report to nobody."""


def _nothing(given: Sequence[object], aside: Sequence[SetAside]) -> InputError:
    if not aside:
        return InputError(f"{', '.join(map(str, given))}: no file was found there")
    if len(aside) == 1:
        return TraceFormatError(f"{aside[0].file}: {aside[0].reason}")
    shown = "; ".join(f"{each.file}: {each.reason}" for each in aside[:3])
    return TraceFormatError(f"none of the {len(aside)} files could be read: {shown}")
