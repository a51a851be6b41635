"""What does a study look like on disk, and what of it is left to do?

    study.json        what all runs share, the matrix, the state of each cell; replaced in one go after every change
    <cell>/           one run directory per cell, such as train-cpu-64
    <cell>.log        what a cell that failed said on stderr

This is the only definition of the format on the writing side; `analyze` reads it by its own code.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from collect import machine
from collect.study.matrix import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = "stepscope-study"
FORMAT_VERSION = 1
NAME = "study.json"


class UnusableStudyError(ValueError):
    """The folder holds no study, or one of other options."""


class StudyFile:
    """`study.json`, kept on disk as it changes."""

    def __init__(self, directory: Path, fields: dict[str, Any]) -> None:
        self.directory = directory
        self.fields = fields

    @classmethod
    def create(cls, directory: Path, cells: Sequence[Cell], shared: Mapping[str, Any], command: Sequence[str]) -> StudyFile:
        """Begin a study, or go on with the one that lies there: finished cells are kept, new ones added.

        Raises UnusableStudyError where the study that lies there was begun with other options.
        """
        if (directory / NAME).exists():
            study = cls.load(directory)
            study.extend(cells, shared, command)
        else:
            study = cls(
                directory,
                {
                    "format": FORMAT,
                    "format_version": FORMAT_VERSION,
                    "stepscope_version": machine.stepscope_version(),
                    "command": list(command),
                    "created_ns": time.time_ns(),
                    "shared": dict(shared),
                    "cells": [_waiting(cell) for cell in cells],
                },
            )
        study.write()
        return study

    @classmethod
    def load(cls, directory: Path) -> StudyFile:
        """Read a study. Raises UnusableStudyError with one line where there is none."""
        try:
            fields = json.loads((directory / NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UnusableStudyError(f"{directory}: no study there can be read ({error})") from error
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise UnusableStudyError(f"{directory / NAME} is not the file of a study")
        return cls(directory, fields)

    @property
    def shared(self) -> dict[str, Any]:
        """What all cells have in common."""
        return dict(self.fields["shared"])

    @property
    def cells(self) -> list[Cell]:
        """All cells, in the order in which they run."""
        return [Cell.of(fields) for fields in self.fields["cells"]]

    def state(self, cell: Cell) -> str:
        """Waiting, running, done, failed or interrupted."""
        return str(self._of(cell)["state"])

    def is_done(self, cell: Cell) -> bool:
        """Whether the cell is finished and its run still lies there."""
        return cell in self.cells and self.state(cell) == "done" and any(self.run_of(cell).glob("manifest.*.json"))

    def run_of(self, cell: Cell) -> Path:
        """Return the run directory of a cell."""
        return self.directory / cell.name

    def set(self, cell: Cell, state: str, **facts: Any) -> None:  # noqa: ANN401 - JSON values
        """Change a cell's state and keep facts about it."""
        self._of(cell).update({"state": state, **facts})
        self.write()

    def extend(self, cells: Sequence[Cell], shared: Mapping[str, Any], command: Sequence[str]) -> None:
        """Add cells. Raises UnusableStudyError where they would not share what the others do."""
        mine = self.fields["shared"]
        other = [f"{name} ({mine.get(name)} there, {value} now)" for name, value in shared.items() if mine.get(name) != value]
        if other:
            raise UnusableStudyError(
                f"{self.directory} holds a study of other options: {', '.join(other)}; name another folder with --out"
            )
        known = self.cells
        self.fields["cells"] += [_waiting(cell) for cell in cells if cell not in known]
        self.fields["command"] = list(command)

    def write(self) -> None:
        """Replace the file, so that a reader, or whoever resumes, never sees half of it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        partial = self.directory / f"{NAME}.partial"
        partial.write_text(json.dumps(self.fields, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.directory / NAME)

    def _of(self, cell: Cell) -> dict[str, Any]:
        found: dict[str, Any] = self.fields["cells"][self.cells.index(cell)]
        return found


def _waiting(cell: Cell) -> dict[str, Any]:
    return {
        "name": cell.name,
        "mode": cell.mode,
        "device": cell.device,
        "batch_size": cell.batch_size,
        "state": "waiting",
        "message": None,
        "steps": None,
        "startup_s": None,
        "wall_s": None,
    }
