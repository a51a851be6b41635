"""Uploaded files: a private folder per session, names that come from the content and never from the user."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

CHUNK_BYTES = 4 * 1024 * 1024
#: Files of a run directory name one another, so these exact forms are kept; they hold no separator and no leading dot.
RUN_FILE = re.compile(
    r"manifest\.\d{1,6}\.json|steps\.\d{1,6}\.jsonl|telemetry\.[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.jsonl"
    r"|rank\d{1,6}\.(times|explanations)(\.\d{1,4})?\.pt\.trace\.json(\.gz)?"
)
#: the one thing another name may say: which rank wrote the file
RANK = re.compile(r"(?:rank|worker)[-_ ]?(\d{1,6})", re.IGNORECASE)


class Uploaded(Protocol):
    """What the file widget hands over."""

    name: str

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""

    def seek(self, offset: int, /) -> int:
        """Go to an offset."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Files of one upload as they lie in the session's folder."""

    #: what to open
    paths: tuple[str, ...]
    #: identifies the content, whoever uploaded it and under whatever name
    key: str
    #: stored name to the name the user gave, for display
    names: dict[str, str]


class PrivateFolder:
    """A folder of this session alone; it goes with the session."""

    def __init__(self) -> None:
        # Nobody but the user who runs the server may enter it: that is how mkdtemp makes it.
        self._folder = tempfile.TemporaryDirectory(prefix="stepscope-upload-", ignore_cleanup_errors=True)

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(self._folder.name)

    def store(self, files: Iterable[Uploaded]) -> Stored:
        """Write the files to a new folder inside, under names derived from their content."""
        batch = Path(tempfile.mkdtemp(dir=self.path))
        names: dict[str, str] = {}
        contents: list[str] = []
        for file in files:
            name, digest = _store(file, batch)
            names[name] = file.name
            contents.append(f"{digest} {name}")
        key = hashlib.sha256("\n".join(sorted(contents)).encode()).hexdigest()
        is_run = any(name.startswith("manifest.") for name in names)
        paths = (str(batch),) if is_run else tuple(str(batch / name) for name in sorted(names))
        return Stored(paths=paths, key=f"upload:{key}", names=names | {batch.name: "uploaded files"})

    def forget(self, stored: Stored) -> None:
        """Remove the files of one upload: once read, they are not needed."""
        for path in {Path(path) for path in stored.paths}:
            shutil.rmtree(path if path.is_dir() else path.parent, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder with all it holds."""
        self._folder.cleanup()


def _store(file: Uploaded, batch: Path) -> tuple[str, str]:
    file.seek(0)
    with tempfile.NamedTemporaryFile(dir=batch, delete=False) as target:
        digest = _copy(file, target.file)
    name = stored_name(file.name, digest)
    if (batch / name).exists():  # two manifests of one rank, say: both are kept, and reading tells what is wrong
        name = stored_name("", digest)
    Path(target.name).replace(batch / name)
    return name, digest


def stored_name(name: str, digest: str) -> str:
    """Return the name to store a file under: its digest and the rank it names; files of a run keep theirs."""
    if RUN_FILE.fullmatch(name):
        return name
    rank = RANK.search(name)
    return f"{digest[:32]}.rank{int(rank[1])}.trace" if rank else f"{digest[:32]}.trace"


def _copy(source: Uploaded, target: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := source.read(CHUNK_BYTES):
        digest.update(chunk)
        target.write(chunk)
    return digest.hexdigest()
