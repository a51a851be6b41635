"""From the options of the command line to a recorded study: begin one, or go on with one."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from collect.endings import INTERRUPTED, TERMINATED, Terminated
from collect.machine import usable_cores
from collect.ranks import placement
from collect.run_directory import RUNS
from collect.study.matrix import matrix
from collect.study.matrix_progress import choose_matrix_progress
from collect.study.run_matrix import Matrix, Recording
from collect.study.study_file import StudyFile, UnusableStudyError
from collect.workloads import image_data
from collect.workloads.options import Options, UnusableOptionsError, decide, resolved_device

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["UnusableOptionsError", "UnusableStudyError", "begin", "resume"]

FAILED = 1
#: each worker hoards two batches whenever the loop stands still, and they must be used up before the next measurement
_MOST_WORKERS = 4
#: steps after which loss and accuracy of training runs are compared
COMPARED_STEPS = 32
HELD_OUT_IMAGES = 256
#: so many cores get smaller images still: four runs and more are to take less than three minutes
_FEW_CORES, _FEW_CORES_PIXELS = 4, 48


def begin(
    options: Options,
    devices: Sequence[str],
    batch_sizes: Sequence[int],
    modes: Sequence[str],
    *,
    out: Path | None,
    recording: Mapping[str, Any],
    command: Sequence[str],
) -> int:
    """Record a study and return the exit status; one that lies in `out` already goes on where it ended.

    Raises UnusableOptionsError or UnusableStudyError, with one line, before anything is run.
    """
    _must_be_alone()
    devices, shared, notes = _decided(options, devices or ["auto"])
    out = out or RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-study"
    cells = matrix(devices, batch_sizes or [shared.batch_size or 0], modes or ["train"])
    settled = {name: value for name, value in asdict(shared).items() if name not in ("device", "mode", "batch_size")}
    image_data.make_images(shared)
    study = StudyFile.create(out, cells, {"options": settled, "recording": dict(recording)}, command)
    return _run(study, command, notes)


def resume(directory: Path, command: Sequence[str]) -> int:
    """Run what a study has left. Raises UnusableStudyError, with one line, where there is none."""
    _must_be_alone()
    study = StudyFile.load(directory)
    image_data.make_images(Options(**study.shared["options"]))
    return _run(study, command, [])


def _must_be_alone() -> None:
    if not placement().is_alone:
        raise UnusableStudyError("a study starts its own processes: run it without a launcher")


def _decided(options: Options, devices: Sequence[str]) -> tuple[list[str], Options, list[str]]:
    """Return the devices there are and what all cells share: sizes that the slowest device can cope with."""
    found = list(dict.fromkeys(resolved_device(device) for device in devices))
    for device in found:
        decide(replace(options, device=device))
    pixels = options.image_size
    if pixels is None and "cpu" in found and usable_cores() <= _FEW_CORES:
        pixels = _FEW_CORES_PIXELS
    shared, _ = decide(replace(options, device="cpu" if "cpu" in found else found[0], image_size=pixels))
    workers = min(_MOST_WORKERS, shared.workers or 0) if options.workers is None else shared.workers
    shared = replace(
        shared,
        steps=None,
        compared_steps=options.steps or COMPARED_STEPS,
        workers=workers,
        held_out=options.held_out or HELD_OUT_IMAGES,
    )
    notes = []
    if options.image_size is None and "cpu" in found:
        notes.append(f"images of {shared.image_size} pixels, to fit {usable_cores()} cores; --image-size changes that")
    return found, shared, notes


def _run(study: StudyFile, command: Sequence[str], notes: Sequence[str]) -> int:
    progress = choose_matrix_progress()
    runner = Matrix(study, Recording(**study.shared["recording"]), progress, command)
    ended = 0
    try:
        for note in notes:
            progress.say(note)
        runner.run()
    except KeyboardInterrupt:
        ended = INTERRUPTED
    except Terminated:
        ended = TERMINATED
    finally:
        progress.close()
    if ended:
        progress.say(f"ended; finished cells are kept. Go on with: stepscope collect --resume {study.directory}")
        return ended
    if runner.failed:
        progress.say(f"{len(runner.failed)} cells failed. Try them again with: stepscope collect --resume {study.directory}")
    progress.say(f"next: stepscope study {study.directory}")
    return FAILED if runner.failed else 0
