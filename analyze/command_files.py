"""Which run or file does a command mean, and may it write where it was told to?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyze.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def newest_run(runs: Path) -> Path:
    """Return the run directory below `runs` whose manifest was written last."""
    manifests = sorted(runs.glob("*/manifest.*.json"), key=lambda manifest: manifest.stat().st_mtime_ns)
    if not manifests:
        raise InputError(f"no PATH given and no run under ./{runs}: record one with `stepscope collect`, or give a trace")
    return manifests[-1].parent


def must_be_one_run(paths: Iterable[str]) -> None:
    """Refuse the folder of a study: its runs are of different devices, and no ranks of one another."""
    for path in paths:
        if (Path(path) / "study.json").is_file():
            raise InputError(f"{path} is a study of several runs: stepscope study {path}, or one of the folders in it")


def must_be_free(file: Path, force: bool) -> None:
    """Raise InputError where the file exists and is not to be overwritten, or its folder does not."""
    if file.exists() and not force:
        raise InputError(f"{file} exists; add --force to write over it")
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}")
