"""Arguments of one family's events as columns, read by the compiled reader."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from analyze.ingest.compiled.events import gathered, masked, texts
from analyze.ingest.compiled.library import Interned, address, library, with_room

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = {"int": 0, "float": 1, "text": 2, "json": 3}
VALUE_GIVEN = 1
LINE_BREAK = re.compile(rb"\s*\n\s*")


def scanned_arguments(
    text: bytes,
    begins: np.ndarray[Any, np.dtype[np.int64]],
    lengths: np.ndarray[Any, np.dtype[np.int64]],
    keys: Sequence[tuple[str, str]],
) -> list[pl.Series | None] | None:
    """A column per (key, kind), None where no event has the key; None for all where Python must read them.

    A key that events have with null only gives a column of nulls.
    """
    reader = library()
    if reader is None or not keys or not len(begins):
        return None
    names = [key.encode() for key, _ in keys]
    values = np.empty((len(keys), len(begins)), np.int64)
    valid = np.zeros((len(keys), len(begins)), np.uint8)
    begins, lengths = np.ascontiguousarray(begins), np.ascontiguousarray(lengths)
    name_lengths = np.array([len(name) for name in names], np.int64)
    kinds = np.array([KINDS[kind] for _, kind in keys], np.uint8)
    joined = b"".join(names)

    def call(interned: Interned) -> int:
        valid[:] = 0
        result: int = reader.stepscope_arguments(
            ctypes.c_char_p(text),
            ctypes.c_int64(len(text)),
            ctypes.c_int64(len(begins)),
            address(begins),
            address(lengths),
            ctypes.c_int64(len(keys)),
            ctypes.c_char_p(joined),
            address(name_lengths),
            address(kinds),
            address(values),
            address(valid),
            *interned.arguments(),
        )
        return result

    failed, interned = with_room(call)
    if failed:
        return None
    distinct = interned.texts(text)
    columns: list[pl.Series | None] = []
    for row, given, (_, kind) in zip(values, valid, keys, strict=True):
        column = _column(row, given == VALUE_GIVEN, kind, distinct) if given.any() else None
        if column is None and given.any():
            return None
        columns.append(column)
    return columns


def _column(
    row: np.ndarray[Any, np.dtype[np.int64]], mask: np.ndarray[Any, np.dtype[np.bool_]], kind: str, distinct: Sequence[bytes]
) -> pl.Series | None:
    if kind == "int":
        return masked(pl.Series(row), mask)
    if kind == "float":
        return masked(pl.Series(row.view(np.float64)), mask)
    used = np.zeros(len(distinct), bool)
    used[row[mask]] = True
    shown = [distinct[code] for code in np.flatnonzero(used).tolist()]
    known = texts(shown) if kind == "text" else _json_texts(shown)
    if known is None:
        return None
    numbers = np.full(len(row), -1, np.int64)
    numbers[mask] = (np.cumsum(used) - 1)[row[mask]]
    return gathered(known, numbers)


def _json_texts(distinct: Sequence[bytes]) -> pl.Series:
    return pl.Series([LINE_BREAK.sub(b"", each).decode("utf-8", "replace") for each in distinct], dtype=pl.Categorical)
