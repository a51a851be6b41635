"""The recorded window as a program: host calls in order, the device work each starts, and what each waits for.

All times are float64 nanoseconds relative to the window. Calls are those of the launching threads that start device work or
wait for it; everything else the host does is the gap before the next call. Arrays of calls share one index, arrays of work
another, ordered by launching call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from analyze.intervals import merge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from analyze.intervals import Spans

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]

#: values of Program.waits: nothing, all work issued so far, or work of that index
NOTHING, EVERYTHING = -1, -2


@dataclass(frozen=True, kw_only=True)
class Program:
    """Host calls and device work of the window; an edit returns a changed copy, never one of another length."""

    #: host time before the call, and events the profiler recorded in it
    gap: Floats
    gap_events: Floats
    #: host cost of the call up to its wait, after its wait, and events recorded in it
    cost: Floats
    wake: Floats
    call_events: Floats
    #: NOTHING, EVERYTHING or a work index
    waits: Ints
    call_id: Ints
    call_start: Ints
    #: profiled end of the host part before each call, for finding what overlaps a gap
    gap_start: Ints
    #: work: launching call, duration, delay after the call began, spacing after its stream's previous work
    work_call: Ints
    work_dur: Floats
    latency: Floats
    spacing: Floats
    #: dense stream number, and a work index on another stream that must end first (NOTHING if none)
    work_stream: Ints
    depends: Ints
    work_id: Ints
    work_keep: Flags
    streams: int
    steps: int
    start_ns: int
    end_ns: int
    #: host time, in trace time, that edits have removed
    claimed: Spans = field(default_factory=lambda: merge([], []))

    @property
    def host_events_per_step(self) -> float:
        """Events the profiler recorded on the launching threads in one step."""
        return float(self.gap_events.sum() + self.call_events.sum()) / self.steps

    def gap_spans(self) -> Spans:
        """Profiled spans of the gaps, by call; not merged, they are disjoint and sorted."""
        return self.gap_start, self.call_start
