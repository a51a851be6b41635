"""Where do copies of archive members and frames without a cache live, and when do they go?"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class TemporaryFolder:
    """A folder made when first needed; it is deleted with the last object that holds this one, or when Python ends."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._is_kept = False
        self._count = 0

    def path(self) -> Path:
        """Return the folder."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="stepscope-"))
            weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)
        return self._path

    def new_file(self) -> Path:
        """Return a path of our own naming for a new file."""
        self._count += 1
        return self.path() / f"{self._count:06d}"

    def new_folder(self) -> Path:
        """Return a new empty folder."""
        folder = self.new_file()
        folder.mkdir()
        return folder

    def kept(self) -> TemporaryFolder:
        """Hand the folder over to whoever holds the files in it."""
        self._is_kept = True
        return self

    def delete(self) -> None:
        """Delete everything now, unless it was handed over."""
        if self._path is not None and not self._is_kept:
            shutil.rmtree(self._path, ignore_errors=True)
