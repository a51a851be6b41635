"""Carry out what the schedule decides: begin and end stretches of the clock, open, close and export windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from collect.cuda_marks import CudaDevice
from collect.machine import cuda_in_use
from collect.profiler import WINDOWS, Windows
from collect.run_directory import trace_name

if TYPE_CHECKING:
    from pathlib import Path

    from collect.gc_marks import GarbageMarks
    from collect.manifest import Manifest
    from collect.schedule import Schedule, Stage
    from collect.step_clock import StepClock


class Stages:
    """The stage that runs now, and the changes from one to the next."""

    def __init__(
        self, schedule: Schedule, clock: StepClock, manifest: Manifest, marks: GarbageMarks, out: Path, rank: int
    ) -> None:
        self.schedule = schedule
        self.windows = Windows(marks)
        self._clock = clock
        self._manifest = manifest
        self._out = out
        self._rank = rank
        self._first_of_window = 0

    def begin_stretch(self) -> None:
        """Start the clock in the stage that runs now, on the GPU's time line where one is in use."""
        if self._clock.device is None and cuda_in_use():
            self._clock.device = CudaDevice()
        self._clock.begin(marking=self.schedule.stage.profiling == "off")

    def change(self, old: Stage, next_step: int) -> None:
        """Leave a stage for the one that the schedule has reached; its first step is `next_step`."""
        new = self.schedule.stage
        if old.phase == "settling":
            self._manifest.learn_threads()
        if new.profiling in WINDOWS:
            # armed a step ago: recording begins with the device as busy as it is
            self._first_of_window = next_step
            self.windows.start()
        else:
            self._clock.end()
            self._leave(old, next_step - 1)
            self._enter(new)
            self.begin_stretch()
        self._manifest.fields["settled_at_step"] = self.schedule.settled_at_step

    def abandon(self, *, wait: bool) -> None:
        """End in the middle of whatever runs; `wait` for the device unless it may be unusable."""
        if self.schedule.stage.profiling in WINDOWS:
            self._manifest.note(f"the run ended inside window '{self.schedule.stage.name}': its trace was dropped")
        if wait:
            self._clock.end()
        self.windows.discard()

    def _enter(self, stage: Stage) -> None:
        if stage.profiling == "off":
            return
        self.windows.arm(stage.profiling.removeprefix("arm_") if stage.profiling != "discard" else "times")
        if stage.profiling == "discard":
            self.windows.start()

    def _leave(self, stage: Stage, last_step: int) -> None:
        self.windows.stop()
        if stage.profiling in WINDOWS:
            path = self._out / trace_name(self._rank, stage.profiling)
            if self.windows.export(path):
                options = WINDOWS[stage.profiling]
                self._manifest.add_window(stage.profiling, path.name, self._first_of_window, last_step, options)
            self._manifest.write()
        self.windows.discard()
