"""How is the C reader built, where this machine has a compiler? Without one the Python reader does the same, slower.

    python analyze/ingest/compiled/build.py     # after changing scan.c

The library's name holds a digest of its source, so that one from an older source is never loaded. Imports nothing beyond
the standard library: the package's build runs it before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER / "scan.c"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O3", "-std=c11", "-shared", "-fPIC")


def library_path() -> Path:
    """Where the library built from today's source lies, or would."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    return FOLDER / f"_scan-{digest}.so"


def build() -> Path | None:
    """Build the library; None where it cannot be, which costs speed only."""
    target = library_path()
    if target.exists():
        return target
    compiler = _compiler()
    if compiler is None or os.name != "posix":
        return None
    partial = target.with_suffix(f".{os.getpid()}.partial")
    try:
        subprocess.run(  # noqa: S603 - the compiler that the user's environment names
            [*compiler, *FLAGS, str(SOURCE), "-o", str(partial), "-lm"], check=True, capture_output=True, timeout=120
        )
        partial.replace(target)
    except (OSError, subprocess.SubprocessError):
        return None
    finally:
        partial.unlink(missing_ok=True)
    for old in FOLDER.glob("_scan-*.so"):
        if old != target:
            old.unlink(missing_ok=True)
    return target


def _compiler() -> list[str] | None:
    if named := os.environ.get("CC"):
        return shlex.split(named)
    found = next((each for each in COMPILERS if shutil.which(each)), None)
    return [found] if found else None


if __name__ == "__main__":
    built = build()
    sys.stdout.write(f"built {built.name}\n" if built else "no C compiler here (CC, cc, gcc, clang): the Python reader is used\n")
    sys.exit(0 if built else 1)
