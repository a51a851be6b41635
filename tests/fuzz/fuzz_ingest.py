"""Throws damaged files at ingest: it must answer with a Recording or an error of ours, in bounded time, and the compiled
reader, where it is built, must give what the Python reader gives.

    python tests/fuzz/fuzz_ingest.py --minutes 30          # own mutations; needs nothing more
    python tests/fuzz/fuzz_ingest.py --atheris -max_len=4096  # guided by coverage, where atheris is installed

What fails is kept beside the corpus under a name of its content; put it into `corpus/` once it is fixed, and
`tests/ingest/test_corpus.py` reads it for ever.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import random
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.ingest import Recording

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

CORPUS = Path(__file__).resolve().parent / "corpus"
#: longer than this for a few kilobytes is a hang
LONGEST_SECONDS = 20.0
TOKENS = (
    b'"traceEvents": [', b"},", b"}", b"{", b"[", b"]", b",", b'"', b"\\", b"\\u00", b"\x00", b"\xff", b"null", b"NaN", b"-inf",
    b'"ph": "X"', b'"ph": "B"', b'"ph": "E"', b'"ph": "M"', b'"ts": ', b'"dur": -1', b'"args": {', b"1e309", b"-0", b"9" * 40,
    b'"cat": "kernel"', b'"baseTimeNanoseconds": ', b'{"ph":"X","ts":1}', b"\xef\xbb\xbf", b"\x1f\x8b", b"PK\x03\x04",
    b'"process_name"', b'"/device:GPU:0"', b"[" * 200, b'{"a":' * 200,
)  # fmt: skip


def check(data: bytes, folder: Path) -> None:
    """Read one input in every way; anything but a Recording or an InputError is a failure."""
    import polars as pl  # noqa: PLC0415

    from analyze.errors import StepscopeError  # noqa: PLC0415
    from analyze.ingest import Limits, read  # noqa: PLC0415
    from analyze.ingest.compiled.library import library  # noqa: PLC0415

    file = folder / "input"
    file.write_bytes(data)
    began = time.monotonic()
    try:
        recording = read(file, cache=False, processes=1, limits=Limits(json_bytes=50_000_000))
    except StepscopeError:
        return
    finally:
        elapsed = time.monotonic() - began
        if elapsed > LONGEST_SECONDS:
            raise TimeoutError(f"{elapsed:.0f} s for {len(data)} bytes")
    if library() is not None:
        with pure_python():
            again = read(file, cache=False, processes=1, limits=Limits(json_bytes=50_000_000))
        same(recording, again)
    for trace in recording.traces:
        frames = {family: frame.collect() for family, frame in trace.frames.items()}
        assert frames["raw"].height == trace.info.event_count, "raw events and counted events differ"
        for family, frame in frames.items():
            if "dur_ns" in frame.columns and family != "quarantine":
                assert not (frame["dur_ns"] < 0).any(), f"a negative duration in {family}"
        assert trace.data_quality.filter(pl.col("count") < 0).is_empty()


@contextmanager
def pure_python() -> Iterator[None]:
    """Without the compiled reader."""
    from analyze.ingest.compiled.library import library  # noqa: PLC0415

    os.environ["STEPSCOPE_PURE_PYTHON"] = "1"
    library.cache_clear()
    try:
        yield
    finally:
        del os.environ["STEPSCOPE_PURE_PYTHON"]
        library.cache_clear()


def same(one: Recording, other: Recording) -> None:
    """Both readers found the same."""
    for trace, again in zip(one.traces, other.traces, strict=True):
        assert trace.info == again.info
        assert trace.data_quality.equals(again.data_quality), (trace.data_quality, again.data_quality)
        for family, frame in trace.frames.items():
            found, expected = frame.collect(), again.frames[family].collect()
            assert found.equals(expected), (family, found, expected)


def mutated(seed: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """One to eight random changes."""
    data = bytearray(seed)
    for _ in range(dice.choice((1, 1, 2, 3, 8))):
        at = dice.randrange(len(data) + 1)
        length, new = dice.choice(CHANGES)(data, at, others, dice)
        data[at : at + length] = new
    return bytes(data)


def _drop_marks(data: bytearray, at: int, others: list[bytes], dice: random.Random) -> tuple[int, bytes]:
    """The next bytes without some of their punctuation."""
    return 40, bytes(byte for byte in data[at : at + 40] if byte not in b'",}{' or dice.random() < 0.5)


def _splice(data: bytearray, at: int, others: list[bytes], dice: random.Random) -> tuple[int, bytes]:
    """A stretch of another file."""
    other = dice.choice(others)
    begin = dice.randrange(len(other) + 1)
    return 0, other[begin : begin + dice.randrange(400)]


#: how many bytes go, and what comes instead
CHANGES = (
    lambda data, at, others, dice: (dice.randrange(1, 30), b""),
    lambda data, at, others, dice: (0, dice.choice(TOKENS)),
    lambda data, at, others, dice: (4, dice.choice(TOKENS)),
    lambda data, at, others, dice: (1, bytes([dice.randrange(256)])),
    lambda data, at, others, dice: (len(data), b""),
    lambda data, at, others, dice: (0, bytes(data[at : at + dice.randrange(300)]) * dice.randrange(1, 4)),
    _drop_marks,
    _splice,
)


def seeds() -> list[bytes]:
    """The corpus, and each of its plain files once compressed."""
    plain = [path.read_bytes() for path in sorted(CORPUS.iterdir())]
    return plain + [gzip.compress(data, mtime=0) for data in plain if data[:2] != b"\x1f\x8b"]


def run(minutes: float, seed: int) -> int:
    """Mutate until the time is over; returns how many failures were kept."""
    dice, known, failures, count = random.Random(seed), seeds(), 0, 0
    until = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < until:
            data = mutated(dice.choice(known), known, dice)
            count += 1
            try:
                check(data, Path(name))
            except Exception:  # noqa: BLE001  # any is a finding
                failures += 1
                kept = CORPUS.parent / f"failure-{hashlib.sha256(data).hexdigest()[:12]}"
                kept.write_bytes(data)
                print(kept, traceback.format_exc(limit=-4), flush=True)  # noqa: T201
    print(f"{count} inputs in {minutes:g} minutes, {failures} failures")  # noqa: T201
    return failures


def guided() -> None:
    """Let atheris choose the inputs."""
    import atheris  # noqa: PLC0415

    with atheris.instrument_imports(include=["analyze.ingest"]):
        import analyze.ingest  # noqa: F401, PLC0415
    folder = Path(tempfile.mkdtemp())
    atheris.Setup([sys.argv[0], *sys.argv[2:], str(CORPUS)], lambda data: check(bytes(data), folder))
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--atheris"]:
        guided()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.exit(bool(run(arguments.minutes, arguments.seed)))
