"""What a trace file says about itself and the devices it was recorded on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class DeviceProperties:
    """One device as the trace header or the manifest describes it; None where unknown."""

    index: int
    name: str | None = None
    uuid: str | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None
    compute_capability: tuple[int, int] | None = None
    max_threads_per_multiprocessor: int | None = None


@dataclass(frozen=True, kw_only=True)
class TraceInfo:
    """What a trace file says about itself, apart from its events."""

    #: writer and device kind: kineto-cuda, kineto-rocm, kineto-xpu, kineto-ascend, kineto-mtia, kineto-cpu, autograd,
    #: jax, tensorflow, chrome …
    producer: str
    rank: int | None = None
    world_size: int | None = None
    backend: str | None = None
    devices: tuple[DeviceProperties, ...] = ()
    #: added to every timestamp; None where the file gives no base
    base_time_ns: int | None = None
    #: whether start_ns is Unix time; otherwise it counts from an origin private to the file
    time_is_absolute: bool = False
    has_shapes: bool = False
    has_stacks: bool = False
    has_memory: bool = False
    has_sync_records: bool = False
    #: events in the file, of any kind
    event_count: int = 0
    json_bytes: int = 0
    file_bytes: int = 0
    truncated: bool = False
    #: other top-level keys of the file, as decoded JSON
    header: Mapping[str, Any] = field(default_factory=dict)
