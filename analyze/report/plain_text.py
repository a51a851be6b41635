"""How is text of unknown origin shown in so many columns? Escaped, measured, clipped, wrapped."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def shown(text: object) -> str:
    r"""Return the text with all that is invisible or drives a terminal escaped: \x1b, \u202e. A space stays a space."""
    string = str(text)
    if string.isprintable():
        return string
    return "".join(char if char.isprintable() else _escape(char) for char in string)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def columns(text: str) -> int:
    """Return how many terminal columns the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clipped(text: str, width: int) -> str:
    """Return the text, its end replaced by … where it is wider."""
    if columns(text) <= width:
        return text
    return _fitting_head(text, max(width - 1, 0)) + "…"


def excerpt(text: object, width: int) -> str:
    """Return the visible beginning of a text that may be huge: what is cut off is never looked at."""
    return clipped(shown(str(text)[: width + 1]), width)


def clipped_left(text: str, width: int) -> str:
    """Return the text, its beginning replaced by … where it is wider: the end of a path says more."""
    if columns(text) <= width:
        return text
    return "…" + _fitting_head(text[::-1], max(width - 1, 0))[::-1]


def _fitting_head(text: str, width: int) -> str:
    used = 0
    for position, char in enumerate(text):
        used += columns(char)
        if used > width:
            return text[:position]
    return text


def wrapped(text: str, width: int) -> list[str]:
    """Break at spaces into lines of at most this width; a longer word is broken where it must be."""
    lines: list[str] = []
    for word in _pieces(text, width):
        if lines and columns(lines[-1]) + 1 + columns(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines or [""]


def _pieces(text: str, width: int) -> Iterator[str]:
    for word in text.split():
        rest = word
        while columns(rest) > width:
            head = _fitting_head(rest, width)
            yield head
            rest = rest[len(head) :]
        yield rest


def first_fitting(variants: Iterable[str], width: int) -> str:
    """Return the first variant that fits, the last one clipped where none does: give the fullest wording first."""
    variant = ""
    for variant in variants:
        if columns(variant) <= width:
            return variant
    return clipped(variant, width)
