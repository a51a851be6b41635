"""Plants slow communication, records it, and holds the report against the run in which it is fixed.

    python -m benchmarks.collectives record DIR [--ranks 2]     # needs torch: records four runs through torchrun
    python -m benchmarks.collectives check DIR                  # reports on each and compares

Gradients averaged one by one (against: joined into one piece), and a model whose gradients take longer to send than to compute
(against: averaged in every second step, which is half the transfer that the finding speaks of).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.recorded_ranks import record_run, reported, step_ms

LARGE = ["--width", "1536", "--layers", "4", "--batch", "32"]
RUNS = {
    "one-by-one": ["--how", "one-by-one"],
    "in-one-piece": ["--how", "in-one-piece"],
    "large-gradients": ["--how", "ddp", *LARGE],
    "every-second": ["--how", "ddp-every-second", *LARGE],
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is planted, what must be found, and the run with the fix."""

    name: str
    finding: str
    fixed: str


CASES = (
    Case(name="one-by-one", finding="small-collectives", fixed="in-one-piece"),
    Case(name="large-gradients", finding="exposed-communication", fixed="every-second"),
)


def record(folder: Path, ranks: int) -> None:
    for name, arguments in RUNS.items():
        record_run(folder / name, ranks, "collectives_train.py", *arguments)


def check(folder: Path) -> bool:
    holds = True
    for case in CASES:
        report = reported(folder / case.name)
        found = [finding for finding in report["findings"] if finding["id"] == case.finding]
        now = report["summary"]["step_time_ms"]["mean"]
        low, saving, high = (found[0][f"step_saving_{which}ms"] for which in ("low_", "", "high_")) if found else (0.0, 0.0, 0.0)
        holds &= bool(found)
        print(
            f"{'ok  ' if found else 'MISS'} {case.name:16s} {case.finding} {'found' if found else 'MISSED'}; {now:.2f} ms, "
            f"predicted {now - saving:.2f} ({now - high:.2f} to {now - low:.2f}), measured {step_ms(folder / case.fixed):.2f}",
            flush=True,
        )
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    given = parser.parse_args()
    if given.what == "record":
        record(given.folder, given.ranks)
    else:
        sys.exit(not check(given.folder))


if __name__ == "__main__":
    main()
