"""Run the cells of a study, one after the other, each in a process of its own, and keep its file up to date."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from collect.endings import Terminated, TerminationHandler
from collect.limits import Limits
from collect.run_directory import safe_name
from collect.study.cell_process import CellProcess
from collect.study.matrix import Cell
from collect.study.time_left import Running, Taken, time_left, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from collect.study.matrix_progress import MatrixProgress
    from collect.study.study_file import StudyFile

#: short stretches: a matrix has many cells, and is compared within itself. The last one lasts for telemetry's sake.
LIMITS = {
    "train": Limits(
        settle_most_steps=20,
        settle_most_s=8.0,
        baseline_steps=8,
        baseline_least_s=6.0,
        baseline_most_s=20.0,
        times_steps=3,
        explanations_steps=1,
    ),
    # the ninety-ninth of a hundred latencies needs more of them than a mean does
    "infer": Limits(
        settle_most_steps=20,
        settle_most_s=4.0,
        baseline_steps=25,
        baseline_least_s=4.0,
        baseline_most_s=12.0,
        times_steps=3,
        explanations_steps=1,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Recording:
    """How cells are recorded."""

    profile: bool = True
    telemetry: bool = True
    baseline_steps: int | None = None

    def limits(self, mode: str) -> Limits:
        """Return how long each stage of a cell may take."""
        limits = LIMITS[mode]
        return limits if self.baseline_steps is None else replace(limits, baseline_steps=self.baseline_steps)


class Matrix:
    """The cells of one study on their way."""

    def __init__(self, study: StudyFile, recording: Recording, progress: MatrixProgress, command: Sequence[str]) -> None:
        self._study = study
        self._recording = recording
        self._progress = progress
        self._command = list(command)
        self._todo = [cell for cell in study.cells if not study.is_done(cell)]
        self._all = len(study.cells)
        self._taken: list[Taken] = []
        self.failed: list[Cell] = []

    def run(self) -> None:
        """Run what is not finished. KeyboardInterrupt and Terminated end the running cell first, and go on."""
        termination = TerminationHandler()
        termination.install()
        try:
            if self._all > len(self._todo):
                self._progress.say(f"{self._all - len(self._todo)} of {self._all} cells are finished already and are kept")
            for position, cell in enumerate(self._todo):
                self._run(cell, self._todo[position + 1 :])
        finally:
            termination.remove()
            self._drop_unneeded_weights()

    def _run(self, cell: Cell, waiting: Sequence[Cell]) -> None:
        shutil.rmtree(self._study.run_of(cell), ignore_errors=True)
        self._study.set(cell, "running", message=None)
        number = self._all - len(waiting)
        self._progress.cell(f"cell {number} of {self._all}: {cell.words}")
        log = self._study.directory / f"{cell.name}.log"
        started_s = time.monotonic()
        process = CellProcess(self._task(cell), log)
        try:
            running = self._follow(process, cell, waiting, started_s)
            status = process.wait()
        except (KeyboardInterrupt, Terminated):
            process.stop()
            self._study.set(cell, "interrupted", message="the study was ended here")
            log.unlink(missing_ok=True)
            raise
        self._finish(cell, status, running, time.monotonic() - started_s, log)

    def _follow(self, process: CellProcess, cell: Cell, waiting: Sequence[Cell], started_s: float) -> Running:
        running = Running(cell=cell, steps=0, steps_to_go=None, startup_s=None, elapsed_s=0.0)
        self._show(running, waiting)
        for told in process:
            elapsed_s = time.monotonic() - started_s
            if "to_go" in told:
                running = replace(running, steps=int(told["step"]), steps_to_go=int(told["to_go"]), elapsed_s=elapsed_s)
            elif running.startup_s is None:
                # the recorder is open: the first step begins
                running = replace(running, startup_s=elapsed_s, elapsed_s=elapsed_s)
            self._show(running, waiting)
        return running

    def _show(self, running: Running, waiting: Sequence[Cell]) -> None:
        whole = running.steps + (running.steps_to_go or 0)
        share = running.steps / whole if whole else 0.0
        self._progress.at(self._all - len(waiting) - 1 + share, self._all, words(time_left(self._taken, running, waiting)))

    def _finish(self, cell: Cell, status: int, running: Running, wall_s: float, log: Path) -> None:
        facts = {"steps": running.steps, "startup_s": running.startup_s, "wall_s": wall_s}
        if status == 0:
            log.unlink(missing_ok=True)
            self._study.set(cell, "done", message=None, **facts)
            startup_s = wall_s if running.startup_s is None else running.startup_s
            self._taken.append(Taken(cell=cell, steps=running.steps, startup_s=startup_s, wall_s=wall_s))
        else:
            reason = _last_line(log) or f"exit status {status}"
            self._study.set(cell, "failed", message=reason, **facts)
            self.failed.append(cell)
            self._progress.say(f"{cell.words} failed: {reason} (all it said: {log})")
        self._drop_unneeded_weights()

    def _task(self, cell: Cell) -> dict[str, Any]:
        kept, trained = self._weights(cell), self._weights(cell.trained_by())
        inference = Cell(mode="infer", device=cell.device, batch_size=cell.batch_size)
        is_wanted = cell.mode == "train" and inference in self._study.cells
        return {
            "options": {**self._study.shared["options"], "device": cell.device, "mode": cell.mode, "batch_size": cell.batch_size},
            "out": str(self._study.run_of(cell)),
            "limits": asdict(self._recording.limits(cell.mode)),
            "profile": self._recording.profile,
            "telemetry": self._recording.telemetry,
            "command": self._command,
            "weights": str(trained) if cell.mode == "infer" and trained.exists() else None,
            "keep_weights": str(kept) if is_wanted else None,
        }

    def _weights(self, cell: Cell) -> Path:
        return self._study.directory / f"{safe_name(cell.name)}.weights.pt"

    def _drop_unneeded_weights(self) -> None:
        """Weights are tens of megabytes: they go as soon as no inference waits for them."""
        wanted = {
            self._weights(cell.trained_by())
            for cell in self._study.cells
            if cell.mode == "infer" and not self._study.is_done(cell)
        }
        for path in self._study.directory.glob("*.weights.pt"):
            if path not in wanted:
                path.unlink()


def _last_line(log: Path) -> str | None:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else None
