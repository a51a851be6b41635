"""What can the recording's device do, as far as its name tells?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.hardware import find

if TYPE_CHECKING:
    from analyze.hardware import Hardware
    from analyze.trace_info import TraceInfo


def first_device(trace_info: TraceInfo | None) -> Hardware | None:
    """Ceilings of the first device in the trace's header; None where it names none, or one that is not known."""
    return find(trace_info.devices[0].name) if trace_info is not None and trace_info.devices else None
