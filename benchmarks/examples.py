"""Which sample run shows which finding best? Diagnoses every run below sample_traces/ and keeps one example of each detector.

Run from the project's root:  python -m benchmarks.examples
Writes analyze/findings/examples.json, which `stepscope explain` and the app's catalogue show. Run it again after a detector,
the replay or a sample run changed.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from analyze import diagnose
from analyze.findings.examples import STORED, Example

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Finding, Report

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "sample_traces"
DIGITS = 4
NS_PER_MS = 1e6
#: where several runs show it, the one in which it was planted says more than one that happens to have a larger share of it
PLANTED = {
    "exposed-communication": "sample_traces/faults/large_gradients",
    "layout-conversion": "sample_traces/faults/channels_first",
    "sync-in-step": "sample_traces/faults/reads_values",
}


def main() -> None:
    found = gathered()
    document = {detector: asdict(example) for detector, example in found.items()}
    STORED.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for detector, example in found.items():
        print(f"{detector:28} {example.run}")
    print(f"wrote {STORED.relative_to(ROOT)}")


def sample_runs() -> list[Path]:
    """Run directories of sample_traces/ and of the folders in it; the cells of a study are no examples of anything."""
    runs = (path.parent for pattern in ("*", "*/*") for path in SAMPLES.glob(f"{pattern}/manifest.0.json"))
    return sorted(run for run in runs if not (run.parent / "study.json").exists())


def gathered() -> dict[str, Example]:
    """Return by detector the planted finding, else the one with the largest share of its step, else the first note."""
    best: dict[str, tuple[float, Example]] = {}
    for run in sample_runs():
        report = diagnose(str(run), cache=False)
        for detector, share, example in _examples(report, run.relative_to(ROOT).as_posix()):
            worth = 1.0 + share if PLANTED.get(detector) == example.run else share
            if detector not in best or worth > best[detector][0]:
                best[detector] = (worth, example)
    return {detector: best[detector][1] for detector in sorted(best)}


def _examples(report: Report, run: str) -> Iterator[tuple[str, float, Example]]:
    """Detector, share of the step (a note has none: -1), and example."""
    step = report.summary.step_time
    if step is None:
        return
    for finding in (*report.findings, *report.notes):
        share = -1.0 if finding.step_saving_ns is None else finding.step_saving_ns / step.mean_ns
        yield finding.detector, share, _example(finding, report, run, step.mean_ns)


def _example(finding: Finding, report: Report, run: str, step_ns: float) -> Example:
    return Example(
        run=run,
        label=report.summary.label,
        device=report.summary.device,
        step_ms=_rounded(step_ns / NS_PER_MS),
        saving_ms=_ms(finding.step_saving_ns),
        low_ms=_ms(finding.step_saving_low_ns),
        high_ms=_ms(finding.step_saving_high_ns),
        basis=finding.basis,
        message=finding.message,
        location=finding.location,
    )


def _ms(ns: float | None) -> float | None:
    return None if ns is None else _rounded(ns / NS_PER_MS)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


if __name__ == "__main__":
    main()
