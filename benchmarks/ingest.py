"""How fast and how frugal is loading a trace, beside HTA's loader on the same files?

    python benchmarks/ingest.py                           # 64 MB and 512 MB, gzip
    python benchmarks/ingest.py --sizes 64 512 2000 5000  # sizes in MB of JSON
    python benchmarks/ingest.py --hta-python VENV/bin/python

Files are made from one recorded trace by repeating its events with later times and fresh ids, in the layout that
torch.profiler writes. Every load is a process of its own; memory is the sum over all its processes, sampled.
HTA (extra `hta`) runs in the interpreter given, else in this one; without it only our own figures are printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
MB = 10**6
ID_KEYS = ("correlation", "External id", "Ev Idx", "Sequence number", "Python id", "Python parent id")
OURS = """
import json, sys, time
began = time.perf_counter()
from analyze.ingest import read
recording = read(sys.argv[1], cache=sys.argv[2] == "cache", processes=int(sys.argv[3]) or None)
trace = recording.traces[0]
print(json.dumps({"seconds": time.perf_counter() - began, "rows": trace.info.event_count}))
"""
HTA = """
import json, logging, sys, time, warnings
warnings.filterwarnings("ignore"); logging.disable(logging.INFO)
began = time.perf_counter()
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
print(json.dumps({"seconds": time.perf_counter() - began, "rows": len(analysis.t.traces[0])}))
"""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One load: wall time of the process, its own count of seconds, peak memory of all its processes."""

    seconds: float
    rows: int
    peak_bytes: int


def main() -> None:
    arguments = _arguments()
    sample = arguments.sample or _sample()
    print(f"made from {sample}; {os.cpu_count()} cores; best of {arguments.rounds}; memory is the sum over processes\n")
    print(f"{'JSON':>8} {'gzip':>8}  {'loader':<28} {'s':>7} {'MB/s':>6} {'peak MB':>8} {'of JSON':>8} {'times HTA':>10}")
    with tempfile.TemporaryDirectory(prefix="stepscope-benchmark-", dir=arguments.folder) as folder:
        for size in arguments.sizes:
            path = Path(folder) / f"kineto{size}.json.gz"
            json_bytes = write_trace(sample, path, size * MB)
            compare(path, json_bytes, arguments)
            path.unlink()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[64, 512], metavar="MB", help="of JSON")
    parser.add_argument("--sample", type=Path, help="trace to repeat; default: a recorded one of sample_traces")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--hta-python", default=sys.executable, help="interpreter that has the extra `hta`")
    parser.add_argument("--hta-largest", type=int, default=600, metavar="MB", help="HTA is not run on larger files")
    parser.add_argument("--folder", help="where the files are made and deleted again")
    return parser.parse_args()


def _sample() -> Path:
    """Largest trace among the samples that hold device work."""
    found = sorted((ROOT / "sample_traces").rglob("*.trace.json.gz"), key=lambda path: -path.stat().st_size)
    if not found:
        sys.exit("no trace under sample_traces: name one with --sample")
    return found[0]


def compare(path: Path, json_bytes: int, arguments: argparse.Namespace) -> None:
    """Print one line per loader."""
    stored = path.stat().st_size
    hta = None
    if json_bytes <= arguments.hta_largest * MB and _has_hta(arguments.hta_python):
        hta = _best(arguments.rounds, [arguments.hta_python, "-c", HTA, str(path)])
        _line("HTA 0.5.0 TraceAnalysis()", json_bytes, stored, hta, None)
    for processes in arguments.processes:
        ours = _best(arguments.rounds, [sys.executable, "-c", OURS, str(path), "no-cache", str(processes)])
        _line(f"stepscope, {processes} process(es)", json_bytes, stored, ours, hta)
    with tempfile.TemporaryDirectory(prefix="stepscope-cache-", dir=arguments.folder) as cache:
        command = [sys.executable, "-c", OURS, str(path), "cache", str(max(arguments.processes))]
        first = _run(command, cache)
        _line("stepscope, filling the cache", json_bytes, stored, first, hta)
        again = min((_run(command, cache) for _ in range(arguments.rounds)), key=lambda each: each.seconds)
        _line("stepscope, from the cache", json_bytes, stored, again, hta)


def _has_hta(python: str) -> bool:
    return subprocess.run([python, "-c", "import hta"], capture_output=True, check=False).returncode == 0


def _best(rounds: int, command: Sequence[str]) -> Measured:
    return min((_run(command, None) for _ in range(rounds)), key=lambda each: each.seconds)


def _run(command: Sequence[str], cache: str | None) -> Measured:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache is not None:
        environment["STEPSCOPE_CACHE_DIR"] = cache
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    peak = [0]
    done = threading.Event()
    sampler = threading.Thread(target=_sample_memory, args=(process.pid, peak, done))
    sampler.start()
    printed, _ = process.communicate()
    done.set()
    sampler.join()
    if process.returncode:
        sys.exit(f"{command[0]} failed with status {process.returncode}")
    result = json.loads(printed.splitlines()[-1])
    return Measured(seconds=result["seconds"], rows=result["rows"], peak_bytes=peak[0])


def _sample_memory(pid: int, peak: list[int], done: threading.Event) -> None:
    while not done.wait(0.02):
        try:
            parent = psutil.Process(pid)
            family = [parent, *parent.children(recursive=True)]
            peak[0] = max(peak[0], sum(each.memory_info().rss for each in family))
        except psutil.Error:
            continue


def _line(loader: str, json_bytes: int, stored: int, measured: Measured, hta: Measured | None) -> None:
    times = f"{hta.seconds / measured.seconds:9.1f}x" if hta and hta is not measured else ""
    print(
        f"{json_bytes / MB:6.0f}MB {stored / MB:6.1f}MB  {loader:<28} {measured.seconds:7.2f} "
        f"{json_bytes / MB / measured.seconds:6.0f} {measured.peak_bytes / MB:8.0f} "
        f"{measured.peak_bytes / json_bytes:8.2f} {times}",
        flush=True,
    )


def write_trace(sample: Path, path: Path, json_bytes: int) -> int:
    """Write a gzip trace of about so many bytes of JSON; returns how many it has."""
    from isal import igzip  # noqa: PLC0415

    opener = gzip.open if sample.read_bytes()[:2] == b"\x1f\x8b" else open
    with opener(sample, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    events = [event for event in trace["traceEvents"] if event.get("ph") in ("X", "s", "f", "i")]
    lanes = [event for event in trace["traceEvents"] if event.get("ph") == "M"]
    header = {key: value for key, value in trace.items() if key != "traceEvents"}
    written = 0
    with igzip.open(path, "wb", compresslevel=1) as out:
        for text in _texts(header, lanes, [event for event in events if "ts" in event], json_bytes):
            written += out.write(text)
    return written


def _texts(header: dict[str, Any], lanes: list[Any], events: list[Any], json_bytes: int) -> Iterator[bytes]:
    yield (json.dumps(header, indent=2)[:-2] + ',\n  "traceEvents": [').encode()
    yield ",".join("\n  " + json.dumps(event) for event in lanes).encode()
    starts = [_ns(event["ts"]) for event in events]
    span = max(starts) - min(starts) + 1_000_000
    largest = 1 + max((int(event.get("args", {}).get(key) or 0) for event in events for key in ID_KEYS), default=0)
    pieces = [_pieces(event) for event in events]
    written, block = 0, 0
    while written < json_bytes:
        text = "".join(_event(start + block * span, block * largest, each) for start, each in zip(starts, pieces, strict=True))
        written += len(text)
        block += 1
        yield text.encode()
    yield b'\n  ],\n  "traceName": "made by benchmarks/ingest.py"\n}\n'


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)


def _pieces(event: dict[str, Any]) -> tuple[str, str, list[tuple[str, int]], str]:
    """Text before the time, text after it, ids that move on with each block, and what ends the event."""
    arguments = dict(event.get("args") or {})
    ids = [(key, int(arguments.pop(key))) for key in ID_KEYS if arguments.get(key)]
    if "id" in event:
        ids = [("id", int(event["id"]))]
    head = f',\n  {{\n    "ph": "{event["ph"]}", '
    head += "".join(f'"{key}": {json.dumps(event[key])}, ' for key in ("cat", "s", "name", "pid", "tid") if key in event)
    after = f', "dur": {event["dur"]}' if "dur" in event else ""
    after += ',\n    "args": {\n      ' if event.get("args") else ""
    end = json.dumps(arguments)[1:-1] if event.get("args") else ""
    if event["ph"] == "f":
        end = '"bp": "e"'
    return head, after, ids, end + ("\n    }\n  }" if event.get("args") else "\n  }")


def _event(start_ns: int, offset: int, pieces: tuple[str, str, list[tuple[str, int]], str]) -> str:
    head, after, ids, end = pieces
    numbers = ", ".join([f'"{key}": {value + offset}' for key, value in ids])
    joint = ", " if numbers and end.lstrip()[:1] == '"' else ""
    lead = "" if after.endswith("      ") or not (numbers or end.startswith('"')) else ",\n    "
    return f'{head}"ts": {start_ns // 1000}.{start_ns % 1000:03}{after}{lead}{numbers}{joint}{end}'


if __name__ == "__main__":
    main()
