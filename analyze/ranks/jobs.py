"""Which files belong to one rank, so that a rank can be read without the others?

Files of a run directory say so by their names. Anything else (a trace, an archive, an address) is a job of its own, and what rank
it holds is known once it has been read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyze.ingest.run_files import MANIFEST, STEP_LOG, TELEMETRY, manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RUN_TRACE = re.compile(r"^rank(\d+)\.(?:times|explanations)\..*json")
#: JSON over gzip, of Kineto's traces
USUAL_EXPANSION = 12


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is read together: the files of one rank, or one file that may hold any."""

    name: str
    paths: tuple[str, ...]
    #: about how much JSON that is
    json_bytes: int = 0


def rank_jobs(given: Sequence[str]) -> list[Job]:
    """Jobs in order of rank, then as given; a path that does not exist is a job like any other, whose reading says so."""
    files: list[Path] = []
    elsewhere: list[Job] = []
    for each in given:
        path = Path(each)
        if "://" in each or not path.exists():
            elsewhere.append(Job(name=each, paths=(each,)))
        elif path.is_dir():
            files += [file for file in sorted(path.rglob("*")) if file.is_file() and not _hidden(file, path)]
        else:
            files.append(path)
    if len(given) == 1 and (len(files) <= 1 or elsewhere):
        # whatever it is, its reading knows best what to say about it
        return [Job(name=Path(given[0]).name, paths=tuple(given), json_bytes=_json_bytes(files))]
    return [*_of_files(files), *elsewhere]


def _of_files(files: Sequence[Path]) -> list[Job]:
    ranks: dict[tuple[Path, int], list[Path]] = {}
    telemetry: list[Path] = []
    others: list[Path] = []
    for file in files:
        rank = _rank_in_name(file.name)
        if rank is not None:
            ranks.setdefault((file.parent, rank), []).append(file)
        else:
            (telemetry if TELEMETRY.match(file.name) else others).append(file)
    jobs = [
        _job(f"rank {rank}", [*mine, *_of_host(mine, [file for file in telemetry if file.parent == parent])])
        for (parent, rank), mine in sorted(ranks.items(), key=lambda item: (str(item[0][0]), item[0][1]))
    ]
    # telemetry beside traces that belong to no run was recorded with them
    loose = {file.parent for file in others} - {parent for parent, _ in ranks}
    beside = {parent: [file for file in telemetry if file.parent == parent] for parent in loose}
    return [*jobs, *(_job(file.name, [file, *beside.get(file.parent, [])]) for file in others)]


def _hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _rank_in_name(name: str) -> int | None:
    found = MANIFEST.match(name) or STEP_LOG.match(name) or RUN_TRACE.match(name)
    return int(found[1]) if found else None


def _of_host(mine: Iterable[Path], telemetry: Sequence[Path]) -> Iterator[Path]:
    """Telemetry of the host on which a rank ran; of all hosts where the manifest does not name it."""
    host = next(filter(None, (_host(file) for file in mine if MANIFEST.match(file.name))), None)
    named = {found[1]: file for file in telemetry if (found := TELEMETRY.match(file.name))}
    yield from [named[host]] if host in named else telemetry


def _host(file: Path) -> str | None:
    try:
        name = (manifest(file).get("host") or {}).get("name")
    except (OSError, ValueError):
        return None
    return name if isinstance(name, str) else None


def _job(name: str, files: Sequence[Path]) -> Job:
    return Job(name=name, paths=tuple(str(file) for file in files), json_bytes=_json_bytes(files))


def _json_bytes(files: Iterable[Path]) -> int:
    sizes = ((file.stat().st_size, file.suffix in (".gz", ".zst", ".zip")) for file in files)
    return sum(size * (USUAL_EXPANSION if packed else 1) for size, packed in sizes)
