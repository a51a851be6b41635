"""Which files are known, and known to be something else than a trace in JSON?"""

from __future__ import annotations

from analyze.errors import TraceFormatError

#: first bytes, and what a file that begins so is
KNOWN = (
    (b"SQLite format 3\0", "an SQLite database (an export of Nsight Systems?), which cannot be read yet"),
    (b"\x80\x02", "a Python pickle (a memory snapshot?), which cannot be read yet"),
    (b"\x80\x03", "a Python pickle (a memory snapshot?), which cannot be read yet"),
    (b"\x80\x04", "a Python pickle (a memory snapshot?), which cannot be read yet"),
    (b"\x80\x05", "a Python pickle (a memory snapshot?), which cannot be read yet"),
    (b"PAR1", "a Parquet file"),
    (b"\x89PNG", "a picture"),
    (b"%PDF", "a PDF"),
    (b"\x7fELF", "a program"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
    (b"BZh", "compressed with bzip2; unpack it first"),
    (b"\xfd7zXZ\0", "compressed with xz; unpack it first"),
    (b"\xff\xfe", "UTF-16 text; a trace is UTF-8"),
    (b"\xfe\xff", "UTF-16 text; a trace is UTF-8"),
)


def refuse_foreign(first: bytes) -> None:
    """Raise TraceFormatError that names what the file is, where its first bytes tell."""
    for magic, meaning in KNOWN:
        if first.startswith(magic):
            raise TraceFormatError(f"no Chrome trace: it is {meaning}")
