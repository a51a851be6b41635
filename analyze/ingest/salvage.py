"""How much of a damaged event list can still be read, and what does each damaged event say?

The decoder names the byte at which it stops. Everything before that event is sound, the event itself goes through ever
looser readings, and decoding goes on behind it, so that the cost stays linear in the size of the text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import msgspec

from analyze.errors import TraceFormatError
from analyze.ingest.chunks import EVENT_LIST, SEPARATOR
from analyze.ingest.event import EVENTS, Event

if TYPE_CHECKING:
    from analyze.ingest.quality import QualityLog

AT_BYTE = re.compile(r"\(byte (\d+)\)$")
NAME = re.compile(rb'("name"\s*:\s*")(.*?)("\s*,?\s*(?:"(?:ph|pid|tid|ts|cat|args|dur|id|s)"\s*:|\}))', re.DOTALL)
BARE_WORD = re.compile(rb"([:\[,]\s*)(?:[-+]?(?:inf(?:inity)?|nan)|N/A)(?=\s*[,\]}])", re.IGNORECASE)
BAD_ESCAPE = re.compile(rb'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
TRAILING_COMMA = re.compile(rb",(\s*[}\]])")
CLOSES_LIST = re.compile(rb"\s*,?\s*\]")


def decode(text: bytes, offset: int, quality: QualityLog) -> tuple[list[Event], bytes | None]:
    """Events of the text and, where the event list closes in it, the bytes after its bracket."""
    body = b"[" + text.strip(b", \t\r\n") + b"]"
    try:
        return EVENTS.decode(body), None
    except msgspec.DecodeError as problem:
        closing = _closing(body, problem)
    if closing is not None:
        return EVENTS.decode(body[:closing]), body[closing:-1]
    return _salvage(text, offset, quality)


def _closing(body: bytes, problem: msgspec.DecodeError) -> int | None:
    """Offset behind the bracket that closes the event list, where decoding failed only for what follows it."""
    if "trailing characters" not in str(problem):
        return None
    found = AT_BYTE.search(str(problem))
    return body.rfind(b"]", 0, int(found[1]) - 1) + 1 if found else None


def _salvage(text: bytes, offset: int, quality: QualityLog) -> tuple[list[Event], bytes | None]:
    boundaries = [match.start() + 1 for match in SEPARATOR.finditer(text)]
    events: list[Event] = []
    at = 0
    while at < len(text):
        rest = b"[" + text[at:].strip(b", \t\r\n") + b"]"
        lead = len(text) - at - len(text[at:].lstrip(b", \t\r\n"))
        try:
            events += EVENTS.decode(rest)
        except msgspec.DecodeError as problem:
            closing = _closing(rest, problem)
            if closing is not None:
                events += EVENTS.decode(rest[:closing])
                return events, rest[closing:-1]
            begin, end = _damaged(text, at, lead, boundaries, problem)
            if begin > at:
                events += EVENTS.decode(b"[" + text[at:begin].strip(b", \t\r\n") + b"]")
            piece = text[begin:end].strip(b", \t\r\n")
            tail = None
            if end == len(text):
                piece, tail = _split_tail(piece)
            event = repair(piece)
            if event is not None:
                events.append(event)
                quality.add("repaired-event", 1, offset + begin)
            elif piece:
                if EVENT_LIST.search(piece):
                    raise TraceFormatError(
                        f"a second trace begins at byte {offset + begin}: two writers wrote this file"
                    ) from None
                quality.add("dropped-event", 1, offset + begin)
            if tail is not None:
                return events, tail
            at = end
        else:
            break
    return events, None


def _damaged(text: bytes, at: int, lead: int, boundaries: list[int], problem: msgspec.DecodeError) -> tuple[int, int]:
    """Begin and end of the piece in which decoding of text[at:] failed."""
    found = AT_BYTE.search(str(problem))
    if found:
        byte = at + lead + int(found[1]) - 2
    else:
        byte = _first_bad(text, at, boundaries)
    index = bisect_right(boundaries, max(byte, at))
    begin = max(at, boundaries[index - 1]) if index else at
    end = boundaries[index] if index < len(boundaries) else len(text)
    return begin, end


def _first_bad(text: bytes, at: int, boundaries: list[int]) -> int:
    """Position in the first piece that does not decode, where the decoder names no byte."""
    low, high = bisect_right(boundaries, at), len(boundaries)
    while low < high:
        middle = (low + high) // 2
        try:
            EVENTS.decode(b"[" + text[at : boundaries[middle]].strip(b", \t\r\n") + b"]")
        except msgspec.DecodeError:
            high = middle
        else:
            low = middle + 1
    return max(at, boundaries[low - 1]) if low else at


def _split_tail(piece: bytes) -> tuple[bytes, bytes | None]:
    """Cut the last piece where the event list closes behind it."""
    for match in reversed(list(re.finditer(rb"\}\s*,?\s*\](?=\s*(?:,\s*\"[^\"]*\"\s*:|\}?\s*$))", piece))):
        if not re.search(rb'"(?:ph|ts)"\s*:', piece[match.end() :]):
            return piece[: match.start() + 1], piece[match.end() :]
    return piece, None


def repair(piece: bytes) -> Event | None:
    """One event's text read by ever looser rules; None where it stays unreadable."""
    named = NAME.sub(_quote_inside, piece, count=1)
    plain = BARE_WORD.sub(rb"\1null", piece)
    attempts = (plain, named, BAD_ESCAPE.sub(rb"\\\\", plain), TRAILING_COMMA.sub(rb"\1", plain))
    everything = TRAILING_COMMA.sub(rb"\1", BAD_ESCAPE.sub(rb"\\\\", BARE_WORD.sub(rb"\1null", named)))
    for attempt in (*attempts, everything):
        try:
            value = json.loads(attempt.decode("utf-8", "replace"), strict=False, parse_float=str)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return _event(value)
    return None


def _quote_inside(match: re.Match[bytes]) -> bytes:
    return match[1] + re.sub(rb'(?<!\\)"', rb'\\"', match[2]) + match[3]


def _event(value: dict[str, Any]) -> Event | None:
    shaped = {
        key: msgspec.Raw(msgspec.json.encode(item)) if key in ("ts", "args") else item for key, item in value.items()
    }
    try:
        return msgspec.convert(shaped, Event)
    except (msgspec.ValidationError, TypeError):
        return None
