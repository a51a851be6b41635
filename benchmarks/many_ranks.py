"""How do time and memory grow with the number of ranks, and is the report the same wherever the ranks are read?

    python -m benchmarks.many_ranks FOLDER [--ranks 64 256 1024] [--scratch DIR] [--dask]

FOLDER holds the traces of a few real ranks. Each is written again under many rank numbers, its clock shifted by up to 400 µs, so that
nothing is read from a cache and offsets must be found. Printed per number of ranks: seconds, seconds per rank, peak memory of the
process and of the largest worker; with --dask, whether a local cluster of two workers gives the same JSON, byte for byte.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
SHIFT_NS = 400_000
SEED = 2023
RANK = re.compile(rb'("rank":\s*)(\d+)')
WORLD = re.compile(rb'("world_size":\s*)(\d+)')
SIZE = re.compile(rb'("(?:pg_size|Group size)":\s*)(\d+)')
BASE = re.compile(rb'("baseTimeNanoseconds":\s*)(\d+)')
REPORT = "import sys; from analyze.cli import main; sys.exit(main())"


def write_ranks(sources: Sequence[Path], folder: Path, count: int) -> None:
    """Traces of `count` ranks, from the sources in turn."""
    texts = [gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes() for source in sources]
    shifts = random.Random(SEED)  # noqa: S311 - a repeatable shift, no secret
    for rank in range(count):
        shift = shifts.randint(-SHIFT_NS, SHIFT_NS)
        text = RANK.sub(rb"\g<1>%d" % rank, texts[rank % len(texts)])
        text = WORLD.sub(rb"\g<1>%d" % count, text)
        text = SIZE.sub(rb"\g<1>%d" % count, text)
        text = BASE.sub(lambda found, shift=shift: found[1] + b"%d" % (int(found[2]) + shift), text)  # type: ignore[misc]
        (folder / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(text, 1))


def measure(folder: Path, more: Sequence[str] = ()) -> tuple[str, float, float, float]:
    """JSON of the report, seconds, peak MiB of the process and of its largest child."""
    program = (
        f"import resource, sys\nsys.argv = ['stepscope', 'report', {str(folder)!r}, '--json', '--no-cache', *{list(more)!r}]\n"
        "from analyze.cli import main\ncode = main()\n"
        "usage = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
        "print(*usage, file=sys.stderr)\nsys.exit(code)\n"
    )
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    own, largest = (int(part) / 1024 for part in done.stderr.split()[-2:])
    return done.stdout, seconds, own, largest


def on_cluster(folder: Path) -> str:
    """JSON of the report made on a local cluster of two workers."""
    from distributed import LocalCluster  # noqa: PLC0415 - an extra

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        return measure(folder, ["--dask", cluster.scheduler_address])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--scratch", type=Path, default=None)
    parser.add_argument("--dask", action="store_true")
    given = parser.parse_args()
    sources = sorted(file for file in given.sources.rglob("*.json*") if file.is_file())
    for count in given.ranks:
        folder = Path(tempfile.mkdtemp(prefix="ranks-", dir=given.scratch))
        try:
            write_ranks(sources, folder, count)
            text, seconds, own, largest = measure(folder)
            report = json.loads(text)
            line = (
                f"{count:5d} ranks: {seconds:7.1f} s ({seconds / count * 1e3:.0f} ms each), peak {own:,.0f} MiB, "
                f"largest worker {largest:,.0f} MiB; {len(report['ranks'])} ranks, {len(report['set_aside'])} set aside"
            )
            if given.dask:
                line += f"; Dask gives the same: {on_cluster(folder) == text}"
            print(line, flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
