"""How does a file at an address (http, s3, gs …) become a local one?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.errors import InputError, StepscopeError
from analyze.ingest.sources import Source, last_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from analyze.ingest.limits import Limits

BLOCK_BYTES = 4 << 20
#: protocols whose folders cannot be listed
UNLISTED = ("http", "https")


def fetched(address: str, limits: Limits, spool: Callable[[], Path], check: Callable[[], None]) -> Iterator[Source]:
    """Copies of the file, or of all files of the folder, at the address; raises InputError where it cannot be read."""
    import fsspec  # noqa: PLC0415  # slow to import

    try:
        system, path = fsspec.core.url_to_fs(address)
        protocol = address.split("://", 1)[0]
        paths = [path]
        if protocol not in UNLISTED and system.isdir(path):
            paths = sorted(system.find(path))
            limits.check_members(len(paths))
        for each in paths:
            copy = spool()
            _download(system, each, copy, limits, check)
            shown = each if protocol in UNLISTED else f"{protocol}://{each}"
            yield Source(name=last_part(each.split("?", 1)[0]), path=shown, local=copy, is_original=False)
    except (ImportError, ValueError) as problem:
        raise InputError(f"{address}: {problem}; pip install 'stepscope[remote]' brings http, s3 and gs") from problem
    except StepscopeError:
        raise
    except Exception as problem:  # every backend raises its own kind
        raise InputError(f"{address}: it could not be read ({problem or type(problem).__name__})") from problem


def _download(system: object, path: str, copy: Path, limits: Limits, check: Callable[[], None]) -> None:
    done = 0
    with system.open(path, "rb", block_size=BLOCK_BYTES) as content, copy.open("wb") as out:  # type: ignore[attr-defined]
        while block := content.read(BLOCK_BYTES):
            check()
            done += len(block)
            limits.check_size(done, done)
            out.write(block)
