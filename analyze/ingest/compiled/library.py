"""Where is the compiled reader, and how is it called?"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from analyze.ingest.compiled.build import library_path

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE_FULL, ROWS_FULL = -2, -3
#: distinct strings that a call has room for at first
FIRST_ROOM = 1 << 15
#: so many are the texts of a million events that all differ: who needs more is read in Python
LARGEST_ROOM = 1 << 23


@cache
def library() -> ctypes.CDLL | None:
    """The built library; None where there is none, or where STEPSCOPE_PURE_PYTHON asks for the Python reader."""
    if os.environ.get("STEPSCOPE_PURE_PYTHON"):
        return None
    try:
        found = ctypes.CDLL(str(library_path()))
        found.stepscope_events.restype = found.stepscope_arguments.restype = ctypes.c_int64
    except (OSError, AttributeError):
        return None
    return found


class Interned:
    """Room for the distinct strings of one text; `offset` and `length` say where each stands first."""

    def __init__(self, room: int = FIRST_ROOM) -> None:
        self.room = room
        self.slots = np.full(room * 2, -1, np.int32)
        self.offset = np.empty(room, np.int64)
        self.length = np.empty(room, np.int64)
        self.hash = np.empty(room, np.uint64)
        self.distinct = np.zeros(1, np.int64)

    def arguments(self) -> list[Any]:
        """The last arguments of both functions."""
        return [
            address(self.slots),
            ctypes.c_int64(self.room * 2 - 1),
            address(self.offset),
            address(self.length),
            address(self.hash),
            ctypes.c_int64(self.room),
            address(self.distinct),
        ]

    def texts(self, text: bytes) -> list[bytes]:
        """The distinct strings as they stand in the file, by number."""
        count = int(self.distinct[0])
        begins, lengths = self.offset[:count].tolist(), self.length[:count].tolist()
        return [text[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]


def address(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    """Pointer to the array's first element."""
    return ctypes.c_void_p(array.ctypes.data)


def with_room(call: Callable[[Interned], int]) -> tuple[int, Interned]:
    """Result of `call(interned)`, again with more room while there is too little."""
    room = FIRST_ROOM
    while True:
        interned = Interned(room)
        result = call(interned)
        if result != TABLE_FULL or room >= LARGEST_ROOM:
            return result, interned
        room *= 8
