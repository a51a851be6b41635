"""What does one trace file hold? Header, events by family, and how sound it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyze import schema
from analyze.errors import TraceFormatError
from analyze.ingest.assemble import Assembler, reference_time
from analyze.ingest.chunks import Header, header_and_chunks
from analyze.ingest.producers import recognise
from analyze.ingest.quality import QualityLog
from analyze.ingest.salvage import decode
from analyze.schema import DeviceProperties, TraceInfo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

#: a first timestamp beyond this is Unix time (2001), in a file that gives no base
UNIX_NS = 10**18
YEAR_2100_NS = 4_102_444_800 * 10**9


def read_events(
    stream: BinaryIO, quality: QualityLog
) -> tuple[dict[str, pl.LazyFrame], dict[str, Any], Assembler, int]:
    """Frames by family with times as in the file, the header, the assembler and the size of the JSON."""
    header: dict[str, Any] = {}
    assembler: Assembler | None = None
    tail: bytes | None = None
    size = 0
    for piece in header_and_chunks(stream):
        if isinstance(piece, Header):
            header = read_header(piece, quality)
            size = len(piece.text)
            continue
        size = piece.offset + len(piece.text)
        if tail is not None:
            tail += piece.text
            continue
        events, tail = decode(piece.text, piece.offset, quality)
        if assembler is None:
            if piece.is_last and events and not any(event.ph for event in events):
                raise TraceFormatError("no Chrome trace: its list holds no events (they have a phase 'ph')")
            assembler = Assembler(recognise(header, events), quality, reference_time(events))
        assembler.add(events, piece.offset)
    if assembler is None:
        raise TraceFormatError("no Chrome trace: it has no list 'traceEvents'")
    header |= read_tail(tail, quality, size)
    frames = {family: pl.concat(parts).lazy() for family, parts in assembler.frames.items()}
    frames["lanes"] = assembler.lane_frame().lazy()
    for family, columns in schema.FAMILIES.items():
        frames.setdefault(family, schema.empty(columns).lazy())
    return frames, header, assembler, size


def read_header(piece: Header, quality: QualityLog) -> dict[str, Any]:
    """Top-level keys before the events."""
    if piece.is_list:
        return {}
    if not piece.has_events:
        raise TraceFormatError("no Chrome trace: it has no list 'traceEvents'")
    return _object(piece.text.rstrip().rstrip(b",") + b"}", quality, 0)


def read_tail(tail: bytes | None, quality: QualityLog, size: int) -> dict[str, Any]:
    """Top-level keys after the events."""
    if tail is None:
        quality.add("truncated", 1, size)
        return {}
    text = tail.strip().lstrip(b"]").strip()
    if text in (b"", b"}"):
        return {}
    return _object(b"{" + text.lstrip(b","), quality, size - len(tail))


def _object(text: bytes, quality: QualityLog, offset: int) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        pass
    try:
        value = json.loads(text.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        quality.add("unreadable-header", 1, offset)
        return {}
    return value if isinstance(value, dict) else {}


def describe(
    frames: Mapping[str, pl.LazyFrame],
    header: Mapping[str, Any],
    assembler: Assembler,
    json_bytes: int,
    file_bytes: int,
) -> TraceInfo:
    """TraceInfo of the file."""
    calls = frames["runtime_events"].select(pl.col("name").unique().cast(pl.String)).collect()["name"].to_list()
    distributed = header.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    base = header.get("baseTimeNanoseconds")
    base = base if isinstance(base, int) and not isinstance(base, bool) else None
    reference = assembler.reference_ns
    already_absolute = reference is not None and reference > UNIX_NS
    if base is not None and reference is not None and base + reference > YEAR_2100_NS:
        base = None
    has = {
        name: frames[family].filter(pl.col(column).is_not_null()).head(1).collect().height > 0
        for name, family, column in (
            ("shapes", "op_events", "input_dims"),
            ("stacks", "python_events", "id"),
            ("memory", "memory_events", "id"),
            ("syncs", "sync_events", "id"),
        )
    }
    return TraceInfo(
        producer=assembler.producer.describe(header, assembler.categories, calls),
        rank=_whole(distributed.get("rank")),
        world_size=_whole(distributed.get("world_size")),
        backend=distributed.get("backend") if isinstance(distributed.get("backend"), str) else None,
        devices=devices(header.get("deviceProperties")),
        base_time_ns=base,
        time_is_absolute=base is not None or already_absolute,
        has_shapes=has["shapes"],
        has_stacks=has["stacks"],
        has_memory=has["memory"],
        has_sync_records=has["syncs"],
        event_count=assembler.next_id,
        json_bytes=json_bytes,
        file_bytes=file_bytes,
        truncated="truncated" in assembler.quality.counts,
        header=header,
    )


def devices(properties: object) -> tuple[DeviceProperties, ...]:
    """Devices as the header lists them."""
    if not isinstance(properties, list):
        return ()
    return tuple(_device(index, given) for index, given in enumerate(properties) if isinstance(given, dict))


def _device(index: int, given: Mapping[str, Any]) -> DeviceProperties:
    major, minor = _whole(given.get("computeMajor")), _whole(given.get("computeMinor"))
    name = given.get("name")
    number = _whole(given.get("id"))
    return DeviceProperties(
        index=index if number is None else number,
        name=name if isinstance(name, str) and name else None,
        uuid=given.get("uuid") if isinstance(given.get("uuid"), str) else None,
        multiprocessors=_whole(given.get("numSms")),
        memory_bytes=_whole(given.get("totalGlobalMem")),
        compute_capability=(major, minor) if major is not None and minor is not None else None,
        max_threads_per_multiprocessor=_whole(
            given.get("maxThreadsPerMultiprocessor", given.get("maxThreadsPerMultiProcessor"))
        ),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
