"""What do the keys around the event list say: devices, ranks, base time?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from analyze.errors import TraceFormatError
from analyze.ingest.chunks import EVENT_LIST
from analyze.ingest.repair import literal_backslashes
from analyze.trace_info import DeviceProperties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.ingest.quality import QualityLog


def read_header(text: bytes, quality: QualityLog) -> dict[str, Any]:
    """Top-level keys before the events; '' for a bare array."""
    return _object(text.rstrip().rstrip(b",") + b"}", quality, 0) if text.strip() else {}


def read_tail(tail: bytes, quality: QualityLog, offset: int) -> dict[str, Any]:
    """Top-level keys after the events; raises TraceFormatError where a second document follows."""
    text = tail.strip()
    if EVENT_LIST.search(text):
        raise TraceFormatError(f"a second trace begins after byte {offset}: two writers wrote into this file")
    if text.strip(b"\0 \t\r\n") in (b"", b"}"):
        return {}
    return _object(b"{" + text.lstrip(b", \t\r\n"), quality, offset)


def _object(text: bytes, quality: QualityLog, offset: int) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        pass
    for loose in (text, literal_backslashes(text), text + b"}"):
        try:
            given = json.JSONDecoder(strict=False).raw_decode(loose.decode("utf-8", "replace"))[0]
            # once around, so that nothing is left that JSON cannot carry to the cache
            value = msgspec.json.decode(msgspec.json.encode(given))
        except (ValueError, RecursionError, OverflowError, msgspec.DecodeError):
            continue
        if isinstance(value, dict):
            quality.add("repaired-header", 1, offset)
            return value
    quality.add("unreadable-header", 1, offset)
    return {}


def whole(value: object) -> int | None:
    """Return an integer; None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def devices(properties: object) -> tuple[DeviceProperties, ...]:
    """Devices as the header lists them."""
    listed = properties if isinstance(properties, list) else []
    return tuple(_device(index, given) for index, given in enumerate(listed) if isinstance(given, dict))


def _device(position: int, given: Mapping[str, Any]) -> DeviceProperties:
    major, minor, index = whole(given.get("computeMajor")), whole(given.get("computeMinor")), whole(given.get("id"))
    name, uuid = given.get("name"), given.get("uuid")
    return DeviceProperties(
        index=position if index is None else index,
        name=name if isinstance(name, str) and name else None,
        uuid=uuid if isinstance(uuid, str) and uuid else None,
        multiprocessors=whole(given.get("numSms")),
        memory_bytes=whole(given.get("totalGlobalMem")),
        compute_capability=(major, minor) if major is not None and minor is not None else None,
        max_threads_per_multiprocessor=whole(given.get("maxThreadsPerMultiprocessor", given.get("maxThreadsPerMultiProcessor"))),
    )
