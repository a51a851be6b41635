"""What does ingest hand over? One Recording: traces, manifests, step log, telemetry, and what was set aside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from analyze.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from analyze.ingest.temporary import TemporaryFolder
    from analyze.trace_info import TraceInfo


class ReadCancelled(InputError):  # what happened, not what went wrong
    """The caller's `cancel` answered true; nothing was left behind."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a `read` has come."""

    file: str
    #: bytes of the file as stored, not of the JSON in it
    bytes_done: int
    bytes_total: int | None


@dataclass(frozen=True, kw_only=True)
class SetAside:
    """A file that was looked at and not used, and why."""

    file: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One trace file: one rank and one profiler cycle."""

    #: for display only; may hold anything
    name: str
    #: path or address, with the member where it lies in an archive
    path: str
    #: None where neither the file nor its name says
    rank: int | None
    cycle: int
    window: Literal["times", "explanations"] | None
    info: TraceInfo
    #: every family of `schema.FAMILIES`, empty where the trace has none
    frames: Mapping[str, pl.LazyFrame]
    #: columns of `schema.DATA_QUALITY`
    data_quality: pl.DataFrame
    #: temporary files behind the frames: keep the trace as long as its frames are used
    folder: TemporaryFolder | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Recording:
    """Everything found under the paths given to `read`."""

    source: str
    traces: tuple[Trace, ...]
    #: by rank
    manifests: Mapping[int, Mapping[str, Any]]
    #: columns of `schema.TABLES["step_log"]`
    step_log: pl.DataFrame | None
    #: columns of `schema.TABLES["telemetry"]`
    telemetry: pl.DataFrame | None
    #: header line of each telemetry file, by host
    telemetry_header: Mapping[str, Mapping[str, Any]]
    set_aside: tuple[SetAside, ...]
    #: temporary files behind the frames, which live as long as the Recording or one of its traces
    folder: TemporaryFolder | None = field(default=None, repr=False, compare=False)
