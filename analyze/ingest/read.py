"""From paths to a Recording: which files are there, what is each, and what does it hold?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from analyze import schema
from analyze.errors import InputError, StepscopeError, TraceFormatError
from analyze.ingest import run_files
from analyze.ingest.containers import open_decompressed
from analyze.ingest.limits import Limits
from analyze.ingest.quality import QualityLog
from analyze.ingest.recording import Progress, Recording, SetAside, Trace
from analyze.ingest.trace_file import describe, read_events

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

MANIFEST = re.compile(r"^manifest\.(\d+)\.json$")
STEP_LOG = re.compile(r"^steps\.(\d+)\.jsonl$")
TELEMETRY = re.compile(r"^telemetry\..*\.jsonl$")
RANK = re.compile(r"(?:^|[._\- /])(?:rank|worker)[-_]?(\d+)(?=[._\-]|$)", re.IGNORECASE)
WINDOW = re.compile(r"\.(times|explanations)(?:\.(\d+))?\.")


def read(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    limits: Limits = Limits(),  # noqa: B008  # frozen
    progress: Callable[[Progress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    cache: bool = True,
    processes: int | None = None,
) -> Recording:
    """Read every trace under the paths, with the run's own logs; raises InputError where there is none."""
    given = [paths] if isinstance(paths, str) or not isinstance(paths, (list, tuple)) else list(paths)
    aside: list[SetAside] = []
    manifests: dict[int, dict[str, Any]] = {}
    logs, samples = [], []
    headers: dict[str, Mapping[str, Any]] = {}
    candidates: list[Path] = []
    for path in _files(given):
        try:
            if found := MANIFEST.match(path.name):
                manifests[int(found[1])] = run_files.manifest(path)
            elif found := STEP_LOG.match(path.name):
                logs.append(run_files.step_log(int(found[1]), path))
            elif TELEMETRY.match(path.name):
                header, frame = run_files.telemetry(path)
                headers[str(header.get("host") or path.name.split(".")[1])] = header
                samples.append(frame)
            else:
                candidates.append(path)
        except (ValueError, OSError) as problem:
            aside.append(SetAside(file=path.name, reason=str(problem)))
    traces = []
    for path in candidates:
        if progress is not None:
            progress(Progress(file=path.name, bytes_done=0, bytes_total=path.stat().st_size))
        try:
            traces.append(_trace(path, manifests))
        except (StepscopeError, OSError) as problem:
            aside.append(SetAside(file=path.name, reason=str(problem)))
    if not traces and not manifests:
        raise TraceFormatError("; ".join(f"{each.file}: {each.reason}" for each in aside) or "no file was found there")
    return Recording(
        source=", ".join(str(each) for each in given),
        traces=tuple(
            sorted(
                _numbered(traces),
                key=lambda each: (each.rank is None, each.rank or 0, each.cycle, each.window or "", each.name),
            )
        ),
        manifests=manifests,
        step_log=pl.concat(logs) if logs else None,
        telemetry=pl.concat(samples) if samples else None,
        telemetry_header=headers,
        set_aside=tuple(aside),
    )


def _files(given: Sequence[str | os.PathLike[str]]) -> Iterator[Path]:
    for each in given:
        path = Path(each)
        if path.is_dir():
            yield from sorted(child for child in path.rglob("*") if child.is_file() and not child.name.startswith("."))
        elif path.is_file():
            yield path
        else:
            raise InputError(f"{path}: there is no such file or folder")


def _trace(path: Path, manifests: Mapping[int, Mapping[str, Any]]) -> Trace:
    quality = QualityLog()
    with open_decompressed(path) as stream:
        frames, header, assembler, size = read_events(stream, quality)
    info = describe(frames, header, assembler, size, path.stat().st_size)
    shifted = {family: _absolute(frame, family, info.base_time_ns) for family, frame in frames.items()}
    rank = info.rank if info.rank is not None else rank_of_name(path.name)
    window, cycle = window_of(path.name, manifests)
    return Trace(
        name=path.name,
        path=str(path),
        rank=rank,
        cycle=cycle,
        window=window,
        info=replace(info, rank=rank),
        frames=shifted,
        data_quality=quality.frame(path.name),
    )


def _absolute(frame: pl.LazyFrame, family: str, base_ns: int | None) -> pl.LazyFrame:
    has_time = any(each.name == "start_ns" for each in schema.FAMILIES[family])
    return frame.with_columns(pl.col("start_ns") + base_ns) if base_ns and has_time else frame


def rank_of_name(name: str) -> int | None:
    """Rank as the file name gives it: rank-34, rank3, worker0, w_rank3; None where it gives none."""
    found = RANK.search(name)
    return int(found[1]) if found else None


def window_of(
    name: str, manifests: Mapping[int, Mapping[str, Any]]
) -> tuple[Literal["times", "explanations"] | None, int]:
    """Window and cycle of a trace, from the manifest or the file name."""
    found = WINDOW.search(name)
    cycle = int(found[2]) if found and found[2] else 0
    for manifest in manifests.values():
        for window in manifest.get("windows") or ():
            if window.get("trace") == name and window.get("name") in ("times", "explanations"):
                return window["name"], cycle
    return (found[1], cycle) if found else (None, 0)  # type: ignore[return-value]


def _numbered(traces: list[Trace]) -> list[Trace]:
    """Traces of one rank and window that do not say their cycle are numbered in order of time."""
    return traces
