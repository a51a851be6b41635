from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from collect.step_clock import Step, StepClock

WALL_NS = 1_700_000_000_000_000_000


@dataclass
class FakeGpu:
    """A device with a clock of its own: marks pass when their time has come."""

    host_ns: int = 1000
    #: device times of the marks to come
    mark_times: list[int] = field(default_factory=list)
    busy_until_ns: int = 0
    synchronised: int = 0

    def synchronise(self) -> None:
        self.synchronised += 1
        self.host_ns = max(self.host_ns, self.busy_until_ns)

    def mark(self, loss: Any) -> FakeMark:
        return FakeMark(self, self.mark_times.pop(0), loss)

    def now_ns(self) -> int:
        return self.host_ns


@dataclass
class FakeMark:
    gpu: FakeGpu
    at_ns: int
    value: Any

    def passed(self) -> bool:
        return self.at_ns <= self.gpu.host_ns

    def since(self, earlier: FakeMark) -> int:
        return self.at_ns - earlier.at_ns

    def loss(self) -> float | None:
        return self.value


def clock_of(gpu: FakeGpu, written: list[Step], *, on_device: bool = True) -> StepClock:
    return StepClock(written.append, gpu if on_device else None, now_ns=gpu.now_ns, wall_ns=lambda: WALL_NS + gpu.host_ns)


def test_on_the_cpu_a_step_lasts_from_end_to_end_and_is_written_at_once():
    gpu, written = FakeGpu(), []
    clock = clock_of(gpu, written, on_device=False)
    clock.begin()
    gpu.host_ns = 1300
    assert clock.end_step(0, "baseline", 120, 16, 0.5) == 300
    gpu.host_ns = 1350
    clock.end_step(1, "baseline", 0, None, None)
    assert [(s.step, s.start_ns - WALL_NS, s.dur_ns, s.input_wait_ns, s.samples, s.loss) for s in written] == [
        (0, 1000, 300, 120, 16, 0.5),
        (1, 1300, 50, 0, None, None),
    ]


def test_a_host_that_runs_ahead_does_not_shorten_the_steps():
    # the host queues three steps in 30 ns; the device takes 500 for each
    gpu, written = FakeGpu(mark_times=[1000, 1500, 2000, 2500], busy_until_ns=2500), []
    gpu.busy_until_ns = 0
    clock = clock_of(gpu, written)
    clock.begin()
    for step in range(3):
        gpu.host_ns += 10
        assert clock.end_step(step, "baseline", 0, 8, float(step)) == 10
    assert written == []
    gpu.busy_until_ns = 2500
    clock.end()
    assert [s.dur_ns for s in written] == [500, 500, 500]
    assert [s.host_dur_ns for s in written] == [10, 10, 10]
    assert [s.start_ns - WALL_NS for s in written] == [1000, 1500, 2000]
    assert [s.loss for s in written] == [0.0, 1.0, 2.0]
    assert gpu.synchronised == 2


def test_steps_are_written_as_soon_as_the_device_has_passed_them_but_the_newest_waits():
    gpu, written = FakeGpu(mark_times=[1000, 1100, 1200, 1300]), []
    clock = clock_of(gpu, written)
    clock.begin()
    gpu.host_ns = 1250
    clock.end_step(0, "baseline", 0, 8, None)
    assert written == []
    clock.end_step(1, "baseline", 0, 8, None)
    assert [s.step for s in written] == [0]
    clock.end_step(2, "baseline", 0, 8, None)
    assert [s.step for s in written] == [0, 1]


def test_the_durations_of_a_stretch_add_up_to_its_wall_time_whatever_the_marks_miss():
    # work on another stream keeps the device busy until 4000, after the last mark
    gpu, written = FakeGpu(mark_times=[1000, 1400, 1800]), []
    clock = clock_of(gpu, written)
    clock.begin()
    for step in range(2):
        gpu.host_ns += 50
        clock.end_step(step, "baseline", 0, 8, None)
    gpu.busy_until_ns = 4000
    clock.end()
    assert [s.dur_ns for s in written] == [400, 2600]
    assert sum(s.dur_ns for s in written) == 4000 - 1000


def test_inside_a_window_no_marks_are_placed_and_the_stretch_still_adds_up():
    gpu, written = FakeGpu(mark_times=[]), []
    clock = clock_of(gpu, written)
    clock.begin(marking=False)
    for step in range(2):
        gpu.host_ns += 50
        clock.end_step(step, "times", 0, 8, 0.25)
    gpu.busy_until_ns = 1900
    clock.end()
    assert [s.dur_ns for s in written] == [50, 850]
    assert [s.loss for s in written] == [0.25, 0.25]


def test_a_step_without_a_mark_amid_marked_ones_is_not_counted_twice():
    gpu, written = FakeGpu(mark_times=[1000, 1100]), []
    clock = clock_of(gpu, written)
    clock.begin()
    marks = [FakeMark(gpu, 1100, None), None, FakeMark(gpu, 1600, None)]
    gpu.mark = lambda loss: marks.pop(0)  # type: ignore[method-assign]
    for step in range(3):
        gpu.host_ns += 200
        clock.end_step(step, "baseline", 0, 8, None)
    clock.end()
    # the second step keeps its host time of 200; the third gets 500 - 200, plus the remainder of none
    assert [s.dur_ns for s in written] == [100, 200, 300]


def test_ending_twice_or_before_the_beginning_does_nothing():
    gpu, written = FakeGpu(mark_times=[1000]), []
    clock = clock_of(gpu, written)
    clock.end()
    clock.begin()
    clock.end()
    clock.end()
    assert written == []
    assert gpu.synchronised == 2


@pytest.mark.parametrize("loss", ["text", [1, 2], object()])
def test_a_loss_that_is_no_number_is_unknown(loss: object):
    gpu, written = FakeGpu(), []
    clock = clock_of(gpu, written, on_device=False)
    clock.begin()
    clock.end_step(0, "baseline", 0, None, loss)
    assert written[0].loss is None
