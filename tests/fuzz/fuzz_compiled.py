"""Holds the compiled reader against the Python reader on damaged event lists: what the first accepts, both read alike.

    python analyze/ingest/compiled/build.py && python tests/fuzz/fuzz_compiled.py --minutes 30

With a library built by `-fsanitize=address,undefined` in the place of the usual one, and libasan and libubsan preloaded, it
also shows every read or write out of bounds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from analyze.ingest.arguments import ArgumentReader  # noqa: E402
from analyze.ingest.chunks import SPACE  # noqa: E402
from analyze.ingest.compiled.events import scanned  # noqa: E402
from analyze.ingest.decoded import DecodedEvents  # noqa: E402
from analyze.ingest.event import EVENTS  # noqa: E402
from analyze.ingest.producers.kineto import ARGUMENTS  # noqa: E402
from analyze.ingest.quality import QualityLog  # noqa: E402
from analyze.ingest.repair import is_utf8  # noqa: E402

READERS = {family: ArgumentReader(family, keys) for family, keys in ARGUMENTS.items()}
SEEDS = (
    # a kernel and an operator
    (
        b'{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12.345, "dur": 3.250, "args": {"device": 0, '
        b'"stream": 7, "correlation": 51, "grid": [2, 1, 1],\n "block": [64, 1, 1], "est. achieved occupancy %": 31.5, "bytes": -3}},\n'
        b'{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 10, "dur": 1, "args": {"External id": 5, '
        b'"Input Dims": [[1, 2], []], "Input type": ["float", ""], "Collective name": "all\\u0072educe", "In msg nelems": 12}},\n'
    ),
    # flows
    (
        b'{"ph": "s", "id": 51, "pid": 9, "tid": "main", "ts": 10.5, "cat": "ac2g", "name": "ac2g"},'
        b'{"ph": "f", "id": -51, "pid": -1, "tid": 7, "ts": 12.3456, "cat": "ac2g", "name": "ac2g", "bp": "e"},'
    ),
    # texts of all kinds, metadata, and the end of the list
    (
        '{"name": "größe 𝄞 \\" \\\\ \\n", "ph": "X", "ts": 1700000000000000.125, "dur": 0.001, "pid": "a\\tb", "args": null},'
        '{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}, "x": [true, false, null, {"a": [1e5, -0.5E-3]}]}'
        "\n], "
    ).encode(),
    b'{"ph":"X","ts":0.0005,"dur":8796093022207.999,"name":"","cat":"python_function","args":{"Python id":1,"Python id":2}},,\n ',
    b'{"ph":"X","ts":1.0015,"dur":-1,"args":{"External id":999999999999999999,"external id":3,"Sequence number":null}}',
)
TOKENS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"\x00", b"\xff", b" ", b"\n", b"-", b".", b"e", b"0", b"5",
    b"null", b"true", b"NaN", b"-0", b"1e309", b"9" * 17, b"9" * 25, b'"args":', b'"ph":"X"', b'"id":', b'"External id":', b"[" * 70,
    b'"device": "0x1f"', b'"correlation": 3.0', b'"Input Dims": ""', b'"cat":null', b'"name":5', b'"tid":1.5', b"0.1234567890123456789",
)  # fmt: skip


def differences(text: bytes) -> str | None:  # noqa: PLR0911 - each is another difference
    """What the two readers see differently in one chunk; None where they agree or the compiled one left it to Python."""
    found = scanned(text) if is_utf8(text) else None
    if found is None:
        return None
    events, closed = found
    body = text if closed < 0 else text[:closed].rstrip()[:-1]
    try:
        decoded = DecodedEvents(EVENTS.decode(b"[" + body.strip(SPACE) + b"]"))
    except Exception as problem:  # noqa: BLE001 - whatever it is, the compiled reader took it
        return f"accepted what Python does not: {problem}"
    if len(events) != len(decoded):
        return f"{len(events)} events, not {len(decoded)}"
    qualities = QualityLog(), QualityLog()
    columns, expected = events.base(qualities[0]), decoded.base(qualities[1])
    for name, series in expected.items():
        if not columns[name].equals(series, check_dtypes=True, null_equal=True):
            return f"{name}: {columns[name].to_list()} not {series.to_list()}"
    rows = np.arange(len(events))
    if list(map(bytes, events.argument_texts(rows))) != list(map(bytes, decoded.argument_texts(rows))):
        return "argument texts"
    for family, reader in READERS.items():
        (got, _), (want, _) = (each.arguments(reader, rows, log) for each, log in zip((events, decoded), qualities, strict=True))
        for name, series in want.items():
            if not got[name].equals(series, check_dtypes=True, null_equal=True):
                return f"{family}.{name}: {got[name].to_list()} not {series.to_list()}"
    return None if qualities[0] == qualities[1] else f"{qualities[0]} not {qualities[1]}"


def mutated(dice: random.Random) -> bytes:
    """A few seeds in a row with a few changes."""
    data = bytearray(b"".join(dice.choice(SEEDS) for _ in range(dice.randint(1, 3))))
    for _ in range(dice.choice((0, 1, 1, 1, 2, 4))):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(4)
        if kind == 0:
            del data[at : at + dice.randint(1, 6)]
        elif kind == 1:
            data[at:at] = dice.choice(TOKENS)
        elif kind == 2:
            data[at : at + 1] = bytes([dice.randrange(256)])
        else:
            data[at : at + dice.randint(1, 8)] = dice.choice(TOKENS)
    return bytes(data)


def run(minutes: float, seed: int) -> int:
    """Mutate until the time is over; returns how many texts were read differently."""
    dice, until, count, accepted, failures = random.Random(seed), time.monotonic() + 60 * minutes, 0, 0, 0
    while time.monotonic() < until:
        text = mutated(dice)
        count += 1
        accepted += scanned(text) is not None
        if problem := differences(text):
            failures += 1
            print(repr(text), problem, flush=True)  # noqa: T201
    print(f"{count} texts in {minutes:g} minutes, {accepted} read by the compiled reader, {failures} differences")  # noqa: T201
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sys.exit(bool(run(arguments.minutes, arguments.seed)))
