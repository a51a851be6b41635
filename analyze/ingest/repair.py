"""What does one damaged event say, read by ever looser rules, and what had to be given up?"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from analyze.ingest.event import Event

if TYPE_CHECKING:
    from analyze.ingest.quality import QualityLog

#: a name up to the next key of the event, or up to its end
NAME = re.compile(rb'("name"\s*:\s*")(.*?)("\s*,?\s*"(?:ph|pid|tid|ts|cat|args|dur|id|s)"\s*:)', re.DOTALL)
LAST_NAME = re.compile(rb'("name"\s*:\s*")(.*)("\s*\}\s*)$', re.DOTALL)
#: words that are no JSON where a value stands; never inside a string, since a quote would come between
BARE_WORD = re.compile(rb"([:\[,]\s*)([-+]?(?:inf(?:inity)?|nan)|N/A|None|undefined)(?=\s*[,\]}])", re.IGNORECASE)
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
BAD_ESCAPE = re.compile(rb'(?<!\\)(?:\\\\)*\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
UNESCAPED_QUOTE = re.compile(rb'(?<!\\)"')
TRAILING_COMMA = re.compile(rb",(\s*[}\]])")
MISSING_KEY_QUOTE = re.compile(rb'([{,]\s*)(?:([A-Za-z_]\w*)"|"([A-Za-z_]\w*))(?=\s*:)')
BACKSLASH = re.compile(rb'\\(?:(["\\]|u[0-9a-fA-F]{4})|)')


def repaired(piece: bytes, offset: int, quality: QualityLog) -> tuple[Event, bytes] | None:
    """One event and its mended text, counted by what was done; None where it stays unreadable."""
    words: list[bytes] = []
    plain = _without_bare_words(piece, words)
    named = NAME.sub(_quotes_escaped, plain, count=1)
    for attempt in (
        plain,
        named,
        TRAILING_COMMA.sub(rb"\1", named),
        MISSING_KEY_QUOTE.sub(_quoted_key, plain),
        LAST_NAME.sub(_quotes_escaped, plain, count=1),
    ):
        try:
            value = json.loads(attempt.decode("utf-8", "replace"), strict=False, parse_float=_Decimal)
        except (ValueError, RecursionError):
            continue
        event = _event(value)
        if event is not None:
            quality.add("repaired-cell", len(words), offset)
            if not words or attempt is not plain:
                quality.add("repaired-event", 1, offset)
            return event, _json(value).encode("utf-8", "replace")
    return None


def literal_backslashes(text: bytes) -> bytes:
    """Double every backslash that escapes neither a quote nor a backslash nor begins a Unicode escape."""
    return BACKSLASH.sub(lambda found: found[0] if found[1] else rb"\\", text)


def is_utf8(text: bytes) -> bool:
    """Whether all bytes are UTF-8."""
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def valid_utf8(text: bytes, offset: int, quality: QualityLog) -> bytes:
    """The text with U+FFFD in place of bytes that are no UTF-8, counted."""
    try:
        text.decode()
    except UnicodeDecodeError as problem:
        escaped = text.decode("utf-8", "surrogateescape")
        replaced = re.sub("[\udc80-\udcff]", "\ufffd", escaped)
        count = sum("\udc80" <= letter <= "\udcff" for letter in escaped[problem.start :])
        quality.add("replaced-bytes", count, offset + problem.start)
        return replaced.encode()
    return text


class _Decimal(str):
    """A number's own text, which must not pass through a float."""

    __slots__ = ()


def _without_bare_words(piece: bytes, words: list[bytes]) -> bytes:
    """Put null for bare words outside strings."""

    def outside(part: bytes) -> bytes:
        def null(found: re.Match[bytes]) -> bytes:
            words.append(found[2])
            return found[1] + b"null"

        return BARE_WORD.sub(null, part)

    if not BARE_WORD.search(piece):
        return piece
    # a word inside a string has a quote on one side at least, so whole strings are stepped over
    result, at = [], 0
    for string in STRING.finditer(piece):
        result += [piece[at : string.start()], string[0]]
        at = string.end()
    result.append(piece[at:])
    marks = b"\0".join(part if index % 2 == 0 else b'"' for index, part in enumerate(result))
    outsides = outside(marks).split(b"\0")
    return b"".join(part if index % 2 else outsides[index] for index, part in enumerate(result))


def _quotes_escaped(found: re.Match[bytes]) -> bytes:
    return found[1] + UNESCAPED_QUOTE.sub(rb'\\"', found[2]) + found[3]


def _quoted_key(found: re.Match[bytes]) -> bytes:
    return found[1] + b'"' + (found[2] or found[3]) + b'"'


def _event(value: object) -> Event | None:
    if not isinstance(value, dict):
        return None
    shaped: dict[str, Any] = {}
    for key, item in value.items():
        if key in ("ts", "args"):
            shaped[key] = msgspec.Raw(_json(item).encode("utf-8", "replace"))
        else:
            shaped[key] = item if key != "name" or not isinstance(item, (dict, list)) else _json(item)
    try:
        return msgspec.convert(shaped, Event)
    except (msgspec.ValidationError, TypeError, ValueError):
        return None


def _json(item: object) -> str:
    """JSON text in which numbers keep their own digits."""
    if isinstance(item, _Decimal):
        return str(item)
    if isinstance(item, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_json(each)}" for key, each in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ",".join(map(_json, item)) + "]"
    return "null" if item != item else json.dumps(item)  # noqa: PLR0124  # NaN
