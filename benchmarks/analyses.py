"""How long does each table and each analysis of one trace take, without what it builds on?

    python benchmarks/analyses.py TRACE [--repeat 3] [--out FILE]

Every result is computed `--repeat` times with its inputs ready; the fastest counts. What a trace lacks is listed as skipped.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from analyze import ingest
from analyze.engine import Workspace, producer, producer_modules
from analyze.errors import MissingData


def sources(path: str) -> dict[str, object]:
    """Return what one trace gives a workspace to start from."""
    trace = ingest.read([path], cache=False).traces[0]
    return {**trace.frames, "trace_info": trace.info, "data_quality": trace.data_quality}


def fastest_ms(workspace: Workspace, name: str, repeat: int) -> float:
    """Return the shortest time of one result, its inputs computed before."""
    workspace.get(name)
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        workspace.call(producer(name))
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def lines(path: str, repeat: int) -> list[str]:
    """Return the report, slowest first."""
    began = time.perf_counter()
    workspace = Workspace(sources(path))
    read_s = time.perf_counter() - began
    measured, skipped = [], []
    for name in producer_modules():
        try:
            measured.append((fastest_ms(workspace, name, repeat), name))
        except MissingData as missing:
            skipped.append(f"{name:28s} skipped: {missing}")
    events = workspace.get("trace_info").event_count
    head = [f"{Path(path).name}: {events:,} events, read in {read_s:.2f} s; ms with inputs ready, fastest of {repeat}", ""]
    total = f"{sum(each for each, _ in measured):10.1f}  all"
    return [*head, *(f"{each:10.1f}  {name}" for each, name in sorted(measured, reverse=True)), total, "", *skipped]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the lines to this file too")
    chosen = parser.parse_args()
    report = "\n".join(lines(chosen.trace, chosen.repeat))
    print(report)
    if chosen.out is not None:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.write_text(report + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
