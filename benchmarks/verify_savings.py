"""Does a fix give back what the diagnosis predicts? Records each planted fault and its fix, diagnoses, measures, compares.

Run from the project's root:  python -m benchmarks.verify_savings [--out DIR] [--only NAME ...] [--rounds 4]
                              python -m benchmarks.verify_savings --again RESULTS.json --runs DIR [--out DIR]
Needs torch; takes the GPU faults where there is a GPU and the CPU ones always. Step times are measured unprofiled in
interleaved rounds; the recordings are stepscope's own. A prediction inside the rounds' range has error 0, else its distance
to the nearest end. Writes verify_savings.<device>.md and .json to the output folder.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import traceback
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from analyze import diagnose
from benchmarks.faults import on_cpu
from collect import Recorder
from collect.limits import Limits

if TYPE_CHECKING:
    from benchmarks.faults.fault import Fault, Loop

WARM_UP_STEPS, GROUP_STEPS, MIN_GROUPS, MAX_GROUPS, ROUND_S = 5, 5, 3, 12, 1.0
AGAIN = (
    "Recorded and measured in one session on the device; diagnosed again afterwards, from those recordings, by the version "
    "beside which this file lies.\n\n"
)
#: a recording that has not ended by then is cut: the windows are long past
MAX_RECORDED_STEPS = 400


@dataclass(frozen=True, kw_only=True)
class Result:
    """One fault: what was said of the bad recording, and what the rounds measured."""

    name: str
    found: bool
    first: str
    before_ms: float
    predicted_ms: float | None
    low_ms: float | None
    high_ms: float | None
    after_ms: float
    rounds_before_ms: list[float]
    rounds_after_ms: list[float]
    error: float
    covered: bool
    claimed_when_fixed: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--runs", type=Path, default=None, help="keep the recordings here")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--again", type=Path, help="diagnose the kept recordings of these results once more; measure nothing")
    arguments = parser.parse_args()
    if arguments.again:
        _judge_again(json.loads(arguments.again.read_text(encoding="utf-8")), arguments.runs, arguments.out)
        return
    faults: list[Fault] = list(on_cpu.FAULTS)
    if torch.cuda.is_available():
        faults = [*gpu_faults(), *faults]
    chosen = [fault for fault in faults if not arguments.only or fault.name in arguments.only]
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    results = []
    for fault in chosen:
        started = time.perf_counter()
        try:
            results.append(_verify(fault, arguments.rounds, arguments.runs or arguments.out / "runs"))
        except Exception:  # noqa: BLE001 - a fault that cannot be planted here (no compiler, too little memory) costs its row
            print(f"{fault.name} could not be planted:\n{traceback.format_exc()}", flush=True)
            continue
        print(_row(results[-1]), f" ({time.perf_counter() - started:.0f} s)", flush=True)
        _write(results, device, arguments.out)
    print(_summary(results))


def gpu_faults() -> list[Fault]:
    """Return all faults that need a GPU."""
    from benchmarks.faults import on_gpu, on_gpu_host, on_gpu_kernels  # noqa: PLC0415 - a GPU's machine alone has use for them

    return [*on_gpu.FAULTS, *on_gpu_host.FAULTS, *on_gpu_kernels.FAULTS]


def _verify(fault: Fault, rounds: int, runs: Path) -> Result:
    measured: dict[bool, list[float]] = {False: [], True: []}
    folders: dict[bool, Path] = {}
    for turn in range(rounds):
        for fixed in (False, True):
            measured[fixed].append(_time(fault, fixed))
            if turn == rounds // 2:
                folders[fixed] = _record(fault, fixed, runs / f"{fault.name}.{'fixed' if fixed else 'bad'}")
    return _judge(fault, measured, folders)


def _judge_again(document: dict[str, Any], runs: Path, out: Path) -> None:
    """Results with the measurements of an earlier run and today's diagnosis of its recordings."""
    faults = {fault.name: fault for fault in (*gpu_faults(), *on_cpu.FAULTS)}
    results = []
    for old in document["results"]:
        measured = {
            False: old.get("rounds_before_ms") or [old["before_ms"]],
            True: old.get("rounds_after_ms") or [old["after_ms"]],
        }
        folders = {fixed: runs / f"{old['name']}.{'fixed' if fixed else 'bad'}" for fixed in (False, True)}
        results.append(_judge(faults[old["name"]], measured, folders))
        print(_row(results[-1]), flush=True)
    _write(results, document["device"], out, document["torch"], AGAIN)
    print(_summary(results))


def _batches(loop: Loop) -> Any:
    return iter(loop.loader) if loop.loader is not None else iter(range(1 << 60))


def _settle() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def _sync() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _time(fault: Fault, fixed: bool) -> float:
    """Median step time over groups of steps, ms."""
    torch.manual_seed(0)
    _settle()
    loop = fault.build(fixed)
    batches = _batches(loop)
    for _ in range(WARM_UP_STEPS):
        loop.step(next(batches))
    _sync()
    groups: list[float] = []
    began = time.perf_counter()
    while len(groups) < MIN_GROUPS or (time.perf_counter() - began < ROUND_S and len(groups) < MAX_GROUPS):
        start = time.perf_counter()
        for _ in range(GROUP_STEPS):
            loop.step(next(batches))
        _sync()
        groups.append((time.perf_counter() - start) / GROUP_STEPS * 1e3)
    del batches
    if loop.close:
        loop.close()
    return statistics.median(groups)


def _record(fault: Fault, fixed: bool, folder: Path) -> Path:
    torch.manual_seed(0)
    _settle()
    loop = fault.build(fixed)
    workers = getattr(loop.loader, "num_workers", None)
    limits = Limits(fixed=True, settle_fixed_steps=8, baseline_steps=6) if fault.recorded_steps else None
    with Recorder(folder, label=fault.name, batch_size=fault.batch_size, workers=workers, limits=limits) as recorder:
        batches = recorder.watch(loop.loader) if loop.loader is not None else range(MAX_RECORDED_STEPS)
        for _, batch in zip(repeat(None, MAX_RECORDED_STEPS), batches):  # noqa: B905 - the loader never ends
            loop.step(batch)
            recorder.step(samples=fault.batch_size)
            if recorder.done or recorder.steps_taken == fault.recorded_steps:
                break
    if loop.close:
        loop.close()
    return recorder.out


def _judge(fault: Fault, measured: dict[bool, list[float]], folders: dict[bool, Path]) -> Result:
    report = diagnose(str(folders[False]))
    step_ns = report.summary.step_time.mean_ns if report.summary.step_time else 0.0
    hit = next((finding for finding in report.findings if finding.detector in fault.names), None)
    before, after = statistics.median(measured[False]), statistics.median(measured[True])
    ratios = [b / a for a, b in zip(measured[False], measured[True], strict=True)]
    error, covered, low, high, predicted = 1.0, False, None, None, None
    if hit is not None and hit.step_saving_ns is not None and step_ns:
        ratio, low, high = (
            1 - (ns or 0.0) / step_ns for ns in (hit.step_saving_ns, hit.step_saving_high_ns, hit.step_saving_low_ns)
        )
        error = max(min(ratios) / max(ratio, 1e-9) - 1, ratio / max(ratios) - 1, 0.0)
        covered = low <= max(ratios) and high >= min(ratios)
        predicted = ratio * before
    still = diagnose(str(folders[True]))
    fixed_ns = still.summary.step_time.mean_ns if still.summary.step_time else 1.0
    claims = [f.step_saving_ns or 0.0 for f in still.findings if f.detector in fault.names]
    return Result(
        name=fault.name,
        found=hit is not None,
        first=report.findings[0].detector if report.findings else "-",
        before_ms=before,
        predicted_ms=predicted,
        low_ms=None if low is None else low * before,
        high_ms=None if high is None else high * before,
        after_ms=after,
        rounds_before_ms=measured[False],
        rounds_after_ms=measured[True],
        error=error,
        covered=covered,
        claimed_when_fixed=max(claims, default=0.0) / fixed_ns,
    )


def _row(result: Result) -> str:
    predicted = "-" if result.predicted_ms is None else f"{result.predicted_ms:.2f} ({result.low_ms:.2f} to {result.high_ms:.2f})"
    return (
        f"| {result.name} | {'yes' if result.found else 'no'} | {result.first} | {result.before_ms:.2f} | {predicted} | "
        f"{result.after_ms:.2f} | {result.error:.0%} | {'yes' if result.covered else 'no'} | {result.claimed_when_fixed:.0%} |"
    )


def _summary(results: list[Result]) -> str:
    errors = [result.error for result in results]
    return (
        f"found {sum(r.found for r in results)} of {len(results)}; error of the predicted step time: median "
        f"{statistics.median(errors):.0%}, worst {max(errors):.0%}; bounds cover the measurement in "
        f"{sum(r.covered for r in results)} of {len(results)}"
    )


def _write(results: list[Result], device: str, out: Path, version: str = torch.__version__, note: str = "") -> None:
    out.mkdir(parents=True, exist_ok=True)
    name = "-".join(device.lower().split())
    head = (
        f"# Predicted and measured savings on {device}, torch {version}\n\n{note}"
        "| fault | found | named first | before, ms | predicted, ms (bounds) | measured after the fix, ms | error | covered "
        "| still claimed when fixed |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    )
    rows = "\n".join(_row(result) for result in results)
    (out / f"verify_savings.{name}.md").write_text(f"{head}{rows}\n\n{_summary(results)}\n", encoding="utf-8")
    document = {"device": device, "torch": version, "results": [asdict(result) for result in results]}
    (out / f"verify_savings.{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
