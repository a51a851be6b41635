"""A whole study made up: two devices, two batch sizes, training and inference, with telemetry; the GPU waits for input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.study.made_up import GIB, MS, cell, samples, steps

if TYPE_CHECKING:
    from analyze.study.model import Measured

#: a step on the CPU and on the GPU, in ms
STEP_MS = {("cpu", 64): 400.0, ("cpu", 128): 800.0, ("cuda", 64): 40.0, ("cuda", 128): 60.0}


def cells() -> list[Measured]:
    """Eight cells."""
    return [_cell(mode, device, batch) for device, batch in STEP_MS for mode in ("train", "infer")]


def _cell(mode: str, device: str, batch: int) -> Measured:
    step_ms = STEP_MS[device, batch] / (1 if mode == "train" else 3)
    kept = {"after_steps": 32, "held_out_images": 256, "held_out_correct": 250, "held_out_loss": 0.1}
    if mode == "infer":
        kept = {"trained": True, "held_out_images": 256, "held_out_correct": 250, "single_image_ns": [5 * MS] * 50}
    busy = 45.0 if device == "cuda" else 0.0
    count = 200
    sensors = samples(
        ("nvml", "GPU-a", "utilisation_percent", [busy] * count),
        ("nvml", "GPU-a", "power_w", [152.0 if busy else 70.0] * count),
        ("nvml", "GPU-a", "temperature_c", [69.0 if busy else 30.0] * count),
        ("nvml", "GPU-a", "memory_used_bytes", [3.4 * GIB] * count),
        ("nvml", "GPU-b", "utilisation_percent", [0.0] * count),
        ("nvml", "GPU-b", "power_w", [23.0] * count),
        ("psutil", None, "cpu_percent", [90.0 if device == "cpu" else 40.0] * count),
        ("psutil", None, "memory_used_bytes", [32.0 * GIB] * count),
        every_s=0.25,
    )
    return cell(
        device,
        batch,
        mode,
        step_log=steps([step_ms * 0.98, step_ms * 1.02] * 20, batch, wait_ms=step_ms / 2, losses=[1.0] * 42),
        manifest={"results": kept, "peak_memory_allocated_bytes": 3 * GIB if device == "cuda" else None},
        telemetry=sensors,
        unsupported={"cpu_energy": "only root may read the processor's energy counter on this system"},
    )
