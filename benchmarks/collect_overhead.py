"""What does an open Recorder cost per step, outside its profiler windows?

    python benchmarks/collect_overhead.py [--rounds 6] [--steps 400] [--width 256]

The same loop runs with and without a Recorder in turns, in one process, so that a machine that grows slower with time
weighs on both. Prints the median step of each, their difference and ratio; and the cost of an empty step, where nothing
hides it. `--device cuda` measures with the GPU in the loop.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from collect import Recorder
from collect.progress import Silence

if TYPE_CHECKING:
    from collections.abc import Callable

_US_PER_S = 1_000_000


def training_step(device: str, width: int) -> Callable[[], torch.Tensor]:
    """Return a small training step: a three-layer network and Adam."""
    layers = [torch.nn.Linear(width, width) for _ in range(3)]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    batch = torch.randn(64, width, device=device)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def timed(step: Callable[[], object], steps: int, after: Callable[[object], None]) -> float:
    """Return the median seconds of `steps` steps, each with what comes after it."""
    durations = []
    for _ in range(steps):
        started = time.perf_counter()
        after(step())
        durations.append(time.perf_counter() - started)
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return statistics.median(durations)


def end_step(recorder: Recorder, loss: object) -> None:
    """Do what a training loop does for its recorder."""
    recorder.step(loss=loss, samples=64)


def wait_for_samples(run: Path) -> None:
    """Let the sampler start, which costs a second of a core once a run, not every step."""
    while not any(len(path.read_text().splitlines()) > 1 for path in run.glob("telemetry.*")):
        time.sleep(0.05)


def compare(step: Callable[[], object], steps: int, rounds: int) -> tuple[float, float]:
    """Return the median step in seconds without and with a recorder, measured in turns."""
    plain, recorded = [], []
    for _ in range(rounds):
        plain.append(timed(step, steps, lambda _: None))
        with (
            tempfile.TemporaryDirectory() as folder,
            Recorder(Path(folder) / "run", profile=False, progress=Silence()) as recorder,
        ):
            wait_for_samples(Path(folder) / "run")
            recorded.append(timed(step, steps, functools.partial(end_step, recorder)))
    return statistics.median(plain), statistics.median(recorded)


def main() -> None:
    """Measure a training step and an empty one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    for name, step in (
        (f"training step ({options.device})", training_step(options.device, options.width)),
        ("empty step", lambda: None),
    ):
        timed(step, options.steps, lambda _: None)
        plain, recorded = compare(step, options.steps, options.rounds)
        added_us = (recorded - plain) * _US_PER_S
        print(
            f"{name}: {plain * _US_PER_S:.1f} us without, {recorded * _US_PER_S:.1f} us with a recorder: "
            f"{added_us:+.1f} us a step, ratio {recorded / plain:.3f}"
            if plain * _US_PER_S > 1
            else f"{name}: {added_us:+.1f} us a step"
        )


if __name__ == "__main__":
    main()
