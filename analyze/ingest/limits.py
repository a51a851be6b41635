"""How much is read before a file is refused? Caps are checked while reading, never after."""

from __future__ import annotations

from dataclasses import dataclass

from analyze.errors import LimitExceeded

GB = 10**9
#: small files may compress well by chance; the expansion is judged beyond this
EXPANSION_FREE_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Caps for one `read`; every message that quotes one names the field to raise."""

    #: decompressed size of one file
    json_bytes: int = 16 * GB
    #: decompressed size over stored size, judged beyond the first 64 MB
    expansion: int = 200
    #: members of one archive, or files of one folder
    members: int = 10_000
    #: containers inside containers: a gzip in a zip is two
    nesting: int = 4

    def check_size(self, decompressed: int, stored: int) -> None:
        """Raise LimitExceeded where so many bytes came out of so few."""
        if decompressed > self.json_bytes:
            raise LimitExceeded(
                f"more than {self.json_bytes / GB:g} GB of JSON; raise Limits.json_bytes if the file is meant to be that large"
            )
        if decompressed > EXPANSION_FREE_BYTES and decompressed > stored * self.expansion:
            raise LimitExceeded(f"its data expand more than {self.expansion} times; raise Limits.expansion if the file is sound")

    def check_members(self, count: int) -> None:
        """Raise LimitExceeded for the file or member after the last allowed one."""
        if count > self.members:
            raise LimitExceeded(f"more than {self.members} files in one place; raise Limits.members to read them all")

    def check_nesting(self, depth: int) -> None:
        """Raise LimitExceeded for a container too deep in others."""
        if depth > self.nesting:
            raise LimitExceeded(f"containers nested more than {self.nesting} deep; raise Limits.nesting to open them")
