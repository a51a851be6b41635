"""One cell, in a process of its own: what to run comes as JSON on the command line, progress goes out as JSON lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.endings import INTERRUPTED
from collect.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

UNUSABLE = 2


class Told:
    """Tells the process that started this one how far the cell is."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def stage(self, name: str, step: int) -> None:
        """Tell the stage."""
        self._tell({"stage": name, "step": step})

    def step(self, taken: int, to_go: Callable[[], int]) -> None:
        """Tell how many steps were taken and about how many are to come."""
        self._tell({"step": taken, "to_go": to_go()})

    def say(self, text: str) -> None:
        """The matrix speaks for its cells."""

    def close(self) -> None:
        """Nothing is held."""

    def _tell(self, line: dict[str, Any]) -> None:
        try:
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()
        except BrokenPipeError:
            # the matrix is gone: nobody will read what this cell still finds
            raise KeyboardInterrupt from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cell that the only argument describes."""
    (text,) = sys.argv[1:] if argv is None else argv
    task = json.loads(text)
    from collect.workloads import image_classifier

    try:
        image_classifier.run(
            image_classifier.Options(**task["options"]),
            Path(task["out"]),
            limits=Limits(**task["limits"]),
            profile=task["profile"],
            telemetry=task["telemetry"],
            progress=Told(sys.stdout),
            command=task["command"],
            weights=_path(task["weights"]),
            keep_weights=_path(task["keep_weights"]),
        )
    except image_classifier.UnusableOptionsError as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
