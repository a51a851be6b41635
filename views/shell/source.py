"""What is open: which files, what identifies their content, and the names to show for them."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyze.errors import InputError
from analyze.report.plain_text import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from views.shell.uploads import Stored

#: files of a folder that are looked at to tell whether it changed
FINGERPRINTED_FILES = 10_000
#: characters of the names of uploaded files in the title
TITLE_CHARACTERS = 80


@dataclass(frozen=True, kw_only=True)
class Source:
    """Files to diagnose."""

    #: identifies the content: opening the same again costs nothing
    key: str
    paths: tuple[str, ...]
    #: for display
    title: str
    #: stored name to the name the user gave; empty where files were opened where they lie
    names: Mapping[str, str] = field(default_factory=dict)
    #: an upload whose files are removed once they were read
    upload: Stored | None = None
    #: step time without the profiler, where the user measured it
    baseline_step_ms: float | None = None
    #: rank at the head of the report; None for the slowest
    rank: int | None = None

    @property
    def report_key(self) -> str:
        """Identifies the report: the content and what was asked of it."""
        return f"{self.key} {self.baseline_step_ms} {self.rank}"

    @property
    def options(self) -> dict[str, Any]:
        """What analyze.diagnose takes beside the paths."""
        return {"baseline_step_ms": self.baseline_step_ms, "rank": self.rank}

    def named(self, text: object) -> str:
        """Return the text with the user's names for stored files, nothing invisible in it."""
        string = str(text)
        for path in self.paths:
            string = string.replace(path, Path(path).name)
        for stored, given in self.names.items():
            string = string.replace(stored, given)
        return shown(string)


def typed_path(text: str) -> Path:
    """Return the path that somebody typed, with or without quotation marks, ~ and variables."""
    return Path(os.path.expandvars(text.strip().strip("\"'"))).expanduser().absolute()


def from_path(text: str) -> Source:
    """Return a source for a path or address as typed. Raises InputError where nothing is there."""
    typed = text.strip().strip("\"'")
    if not typed:
        raise InputError("Type the path of a run directory, a trace, an archive or a folder of traces.")
    if "://" in typed:
        # What an address holds may change without a sign, so it is read anew each time it is opened.
        return Source(key=f"address:{time.time_ns()}:{typed}", paths=(typed,), title=shown(typed))
    path = typed_path(typed)
    if (path / "study.json").is_file():
        raise InputError("This is a study of several runs: the Study page shows it, and each of its folders is a run.")
    try:
        key = fingerprint(path)
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}.") from error
    except ValueError as error:  # a NUL in the path
        raise InputError("That is not a path.") from error
    return Source(key=key, paths=(str(path),), title=shown(path.name or path))


def from_upload(stored: Stored) -> Source:
    """Return a source for uploaded files."""
    given = [name for stored_as, name in stored.names.items() if not stored_as.startswith("tmp")]
    title = given[0] if len(given) == 1 else f"{len(given)} files: {', '.join(given)}"
    short = title if len(title) <= TITLE_CHARACTERS else title[: TITLE_CHARACTERS - 1] + "…"
    return Source(key=stored.key, paths=stored.paths, title=shown(short), names=stored.names, upload=stored)


def fingerprint(path: Path) -> str:
    """Identify content by path, size and time of change: hashing gigabytes would cost as much as parsing them."""
    digest = hashlib.sha256(str(path).encode(errors="surrogateescape"))
    files = [path] if path.is_file() else sorted(path.rglob("*"))[:FINGERPRINTED_FILES]
    for file in [path, *files]:
        status = file.stat()
        digest.update(f"{file}|{status.st_size}|{status.st_mtime_ns}".encode(errors="surrogateescape"))
    return f"path:{digest.hexdigest()}"


def recorded_runs(folders: Iterable[Path]) -> list[Path]:
    """Run directories directly in these folders or one folder deeper, newest first."""
    found: dict[Path, float] = {}
    for folder in folders:
        for pattern in ("manifest.*.json", "*/manifest.*.json", "*/*/manifest.*.json"):
            found.update((manifest.parent, manifest.stat().st_mtime) for manifest in folder.glob(pattern))
    return sorted(found, key=lambda run: -found[run])
