"""How much is read before a file is refused? Caps are checked while reading, never after."""

from __future__ import annotations

from dataclasses import dataclass

GB = 10**9


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Caps for one `read`; every message that quotes one names its option."""

    #: decompressed JSON of one trace
    json_bytes: int = 16 * GB
    #: decompressed size over compressed size, checked beyond the first 64 MB
    expansion: int = 200
    #: members of one archive, and files of one folder
    members: int = 10_000
    #: archives inside archives
    nesting: int = 3
