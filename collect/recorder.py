"""Record a training loop: every step's times, two profiler windows, telemetry, a manifest.

with Recorder("runs/mine", batch_size=64) as recorder:
    for batch in recorder.watch(loader):
        loss = train(batch)
        recorder.step(loss=loss)
        if recorder.done:
            break
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from collect.batches import labels_its_waits, loader_steps, prefetched_batches
from collect.endings import Ending, TerminationHandler, ending_of
from collect.gc_marks import GarbageMarks
from collect.input_feed import InputFeed
from collect.limits import Limits, fit
from collect.machine import host_name
from collect.manifest import Manifest
from collect.progress import choose_progress
from collect.ranks import placement
from collect.run_directory import default_directory, free_directory, steps_name, telemetry_name
from collect.schedule import Schedule
from collect.stages import Stages
from collect.step_clock import StepClock
from collect.step_log import StepLog
from collect.telemetry.process import SamplerProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from collect.progress import Progress

Batch = TypeVar("Batch")

#: how the wait for a batch is named in a trace, where the loader does not name it itself
INPUT_WAIT = "stepscope.input_wait"
#: recorders that are open in this process; the profiler serves only one of them
_open: list[Recorder] = []


class Recorder:
    """Records the loop that runs while it is open.

    `out` is the run directory (default `runs/<timestamp>-<label>`); where this rank recorded a run there before, a
    number is appended, so that a notebook cell can be run again. `steps` says how long the loop is, where that is
    known: a short one gets shorter stretches. `limits` says how long each stage may take, in place of `baseline_steps`.
    `options` are kept in the manifest as they are.
    Raises ValueError where ranks on several hosts cannot agree on a folder by themselves.
    """

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        label: str = "training",
        workload: str | None = None,
        batch_size: int | None = None,
        precision: str | None = None,
        workers: int | None = None,
        steps: int | None = None,
        baseline_steps: int = 30,
        limits: Limits | None = None,
        profile: bool = True,
        telemetry: bool = True,
        mark_collections: bool = True,
        options: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        command: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.placement = placement()
        self._wanted = Path(out) if out is not None else default_directory(label, self.placement)
        self.out = self._wanted
        self._facts = {
            "label": label,
            "workload": workload or "script",
            "batch_size": batch_size,
            "precision": precision,
            "workers": workers,
            "options": dict(options or {}),
        }
        self._notes = list(notes)
        self._command = list(sys.argv if command is None else command)
        self._progress = progress or choose_progress(rank=self.placement.rank, bar=False)
        self._telemetry = telemetry
        limits = limits or Limits(baseline_steps=baseline_steps)
        limits, shrunk = fit(replace(limits, fixed=not self.placement.is_alone, windows=profile), steps)
        self._limits = limits
        self._notes += shrunk
        self._marks = GarbageMarks()
        self._mark_collections = mark_collections
        self._termination = TerminationHandler()
        self._is_open = False

    @property
    def done(self) -> bool:
        """Whether nothing more is to be recorded; the loop may go on, its steps are still logged."""
        return self._schedule.done

    @property
    def steps_taken(self) -> int:
        """Steps closed so far."""
        return self._step

    def __enter__(self) -> Self:
        """Create the run directory and start everything that runs beside the loop."""
        if self._is_open:
            raise RuntimeError("this recorder is open already")
        self.out = free_directory(self._wanted, self.placement.rank)
        self.out.mkdir(parents=True, exist_ok=True)
        if _open and self._limits.windows:
            self._limits, _ = fit(Limits(windows=False, fixed=self._limits.fixed), None)
            self._notes.append("another recorder is open in this process: no profiler windows")
        self._schedule = Schedule(limits=self._limits)
        self._manifest = Manifest(self.out, self.placement, self._facts, self._command)
        self._log = StepLog(self.out / steps_name(self.placement.rank))
        self._clock = StepClock(self._log.write)
        self._stages = Stages(self._schedule, self._clock, self._manifest, self._marks, self.out, self.placement.rank)
        self._feed = InputFeed()
        self._step = 0
        self._paused = self._idle_said = False
        #: no step was closed since the clock was started
        self._fresh = True
        self._keep_notes()
        self._manifest.write()
        self._sampler = self._start_sampler()
        self._termination.install()
        if self._mark_collections:
            self._marks.install()
        self._is_open = True
        self._process = os.getpid()
        _open.append(self)
        atexit.register(self._close_at_exit)
        self._progress.stage(self._schedule.stage.name, 0)
        self._stages.begin_stretch()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close; the exception, if any, goes on."""
        del kind, trace
        self.close(ending_of(error))

    def watch(self, loader: Iterable[Batch]) -> Iterator[Batch]:
        """Yield a loader's batches and measure the wait for each. What runs between two epochs counts for no step."""
        self.begin_epoch()
        started_ns = time.perf_counter_ns()
        batches = iter(loader)
        total = loader_steps(loader)
        self.expect_prefetch(loader)
        taken = 0
        labelled = labels_its_waits(loader)
        try:
            while True:
                try:
                    with nullcontext() if labelled else self._stages.windows.mark(INPUT_WAIT):
                        batch = next(batches)
                except StopIteration:
                    return
                taken += 1
                left = None if total is None else total - taken
                self.took_batch(time.perf_counter_ns() - started_ns, batch, left, total)
                yield batch
                started_ns = time.perf_counter_ns()
        finally:
            self.end_epoch()

    def step(self, loss: Any = None, samples: int | None = None) -> None:  # noqa: ANN401 - a number or a tensor
        """Close a step. `loss` may be a tensor on the device: it is read without waiting for it."""
        if not self._is_open:
            return
        if self._paused:
            # a step outside `watch`, after an epoch of it: its start is not known
            self.begin_epoch()
            return
        self._fresh = False
        stage, feed = self._schedule.stage, self._feed
        self._stages.windows.end_step()
        samples = feed.samples if samples is None else samples
        host_dur_ns = self._clock.end_step(self._step, stage.phase, feed.wait_ns, samples, loss)
        self._step += 1
        changed = self._schedule.advance(host_dur_ns, feed.steps_left, feed.epoch_steps)
        feed.forget()
        if changed:
            self._stages.change(stage, self._step)
            self._say_stage()
        elif stage.phase == "idle" and not self._idle_said:
            self._idle_said = True
            self._progress.stage(stage.name, self._step)
        self._stages.windows.begin_step(self._step)
        self._progress.step(self._step, self._schedule.steps_to_go)

    def took_batch(self, wait_ns: int, batch: Any, left: int | None, total: int | None) -> None:  # noqa: ANN401
        """Count a batch that came in: how long it was waited for, how many its epoch still has, and has in all."""
        self._feed.took(wait_ns, batch, left, total)

    def waited(self, wait_ns: int) -> None:
        """Count a wait for input that brought no batch yet: a loader that starts its workers."""
        self._feed.wait_ns += wait_ns

    def expect_prefetch(self, loader: Any) -> None:  # noqa: ANN401
        """Learn how many batches the loader hoards while the loop stands still."""
        self._schedule.prefetched_batches = prefetched_batches(loader)
        if self._facts["workers"] is None:
            self._manifest.fields["workers"] = getattr(loader, "num_workers", None)

    def end_epoch(self) -> None:
        """Stop the clock until the next epoch begins. Inside a window it goes on: the trace goes on too."""
        if self._is_open and not self._paused and self._schedule.stage.profiling == "off":
            self._paused = True
            self._clock.end()

    def begin_epoch(self) -> None:
        """Start the clock, and a step with it, after a pause; and once more if no step has come of it since.

        The latter is a loader that fed an evaluation, or whatever else a script did before its first step.
        """
        if self._is_open and (self._paused or self._fresh):
            self._paused, self._fresh = False, True
            self._feed.forget()
            self._stages.begin_stretch()

    def close(self, ending: Ending | None = None) -> None:
        """End the recording and write the manifest. Idempotent."""
        if not self._is_open or os.getpid() != self._process:
            # a forked child that unwinds, or exits, holds a copy of us: the run is its parent's
            return
        self._is_open = False
        _open.remove(self)
        atexit.unregister(self._close_at_exit)
        ending = ending or Ending(status="done", code=0)
        try:
            # after a failure the device may be unusable, and waiting for it may fail as well
            self._stages.abandon(wait=ending.status != "failed")
        finally:
            self._marks.remove()
            self._termination.remove()
            self._log.close()
            if self._sampler is not None:
                self._sampler.stop()
            self._write_end(ending)
            self._progress.close()
            self._progress.say(f"{self._log.count} steps recorded in {self.out}")
            self._progress.say(f"next: stepscope report {self.out}")

    def keep_results(self, results: Mapping[str, Any]) -> None:
        """Keep what the run came to (images told apart, say) in the manifest, as it is."""
        self._manifest.fields["results"] = dict(results)

    def note(self, text: str) -> None:
        """Keep a remark in the manifest."""
        self._manifest.note(text)

    def _write_end(self, ending: Ending) -> None:
        missing = self._schedule.missing
        if missing:
            self._manifest.note(f"the run ended after {self._step} steps, before: {', '.join(missing)}")
        if self._manifest.fields["batch_size"] is None:
            self._manifest.fields["batch_size"] = self._log.samples
        self._keep_notes()
        self._manifest.end(ending)

    def _close_at_exit(self) -> None:
        self.close(Ending(status="interrupted", message="the process ended with the recorder open"))

    def _say_stage(self) -> None:
        # a loop that ends when the recorder has enough would make this the last word of a run that is over
        if self._schedule.stage.phase != "idle":
            self._progress.stage(self._schedule.stage.name, self._step)

    def _keep_notes(self) -> None:
        for text in (*self._notes, *self._schedule.notes, *self._stages.windows.notes):
            self._manifest.note(text)

    def _start_sampler(self) -> SamplerProcess | None:
        if not self._telemetry or self.placement.local_rank != 0:
            return None
        options = [] if self.placement.is_alone else ["--all-devices"]
        try:
            return SamplerProcess(self.out / telemetry_name(host_name()), options)
        except OSError as error:
            self._manifest.note(f"no telemetry: the sampler could not be started: {error}")
            return None
