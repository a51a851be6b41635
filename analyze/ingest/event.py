"""What does one event of a Chrome trace look like before its arguments are read?

Fields are as permissive as JSON numbers and strings allow, so that an odd lane or name does not cost its neighbours the
fast path. `ts` and `args` stay raw text: time must become exact nanoseconds, and arguments are read per family.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Scalar: TypeAlias = "int | float | str | bool | None"

#: of a key that is absent
NO_TEXT = msgspec.Raw(b"null")


class Event(msgspec.Struct, gc=False):
    """One element of `traceEvents`; keys not named here are skipped."""

    ph: str = ""
    cat: str | None = None
    name: int | float | str | bool | None = None
    pid: int | float | str | bool | None = None
    tid: int | float | str | bool | None = None
    ts: msgspec.Raw = NO_TEXT
    dur: float | str | None = None
    id: int | float | str | None = None
    args: msgspec.Raw = NO_TEXT


EVENTS = msgspec.json.Decoder(list[Event])
TEXTS = msgspec.json.Decoder(list[msgspec.Raw])
EVENT = msgspec.json.Decoder(Event)
