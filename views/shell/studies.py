"""Studies on this machine: finding them, and reading one once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from analyze.report.plain_text import shown
from analyze.study import read_study
from views.shell.source import typed_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from analyze.study import Study

NAME = "study.json"
#: where this session keeps the folder of the study it opened
OPENED = "study"
#: studies held at once, by all sessions together
HELD = 4


def study_at(text: str) -> Path | None:
    """Return the folder of the study that a typed path names, itself or by its file; None where it names none."""
    try:
        path = typed_path(text)
        folder = path.parent if path.name == NAME else path
        return folder if (folder / NAME).is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def open_study(folder: Path) -> None:
    """Show this study on its page."""
    st.session_state[OPENED] = folder
    st.switch_page("views/study.py")


def study_name(folder: Path) -> str:
    """'runs / 2026-05-04-study': many studies have the same name."""
    return f"{shown(folder.parent.name)} / {shown(folder.name)}"


def recorded_studies(folders: Iterable[Path]) -> list[Path]:
    """Studies directly in these folders or one folder deeper, newest first."""
    found: dict[Path, float] = {}
    for folder in folders:
        for pattern in (NAME, f"*/{NAME}", f"*/*/{NAME}"):
            found.update((file.parent, file.stat().st_mtime) for file in folder.glob(pattern))
    return sorted(found, key=lambda study: -found[study])


def opened_study(directory: Path, epochs: int, images_per_epoch: int) -> Study:
    """Return the study, read anew where its file has changed. Raises InputError where it cannot be read."""
    file = directory / NAME
    changed_ns = file.stat().st_mtime_ns if file.exists() else 0
    return _study(str(directory), changed_ns, epochs, images_per_epoch)


@st.cache_resource(max_entries=HELD, show_spinner="Reading the study")
def _study(directory: str, changed_ns: int, epochs: int, images_per_epoch: int) -> Study:  # noqa: ARG001 - a part of the key
    return read_study(directory, epochs=epochs, images_per_epoch=images_per_epoch)
