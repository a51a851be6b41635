"""What is trained, on what, how; and what the machine decides where the user does not."""

from __future__ import annotations

from dataclasses import dataclass, replace

from collect.machine import usable_cores

#: a machine with so few cores gets smaller images, so that a run takes less than a minute
_FEW_CORES = 4
_SOME_CORES = 16
_MOST_WORKERS = 16
_HELD_OUT_IMAGES = 256


class UnusableOptionsError(ValueError):
    """The options ask for what this machine, or torchvision, does not have."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to train and how; None is decided by the machine."""

    device: str = "auto"
    #: train, or infer: forward passes of a model in evaluation mode
    mode: str = "train"
    model: str = "resnet18"
    data: str | None = None
    batch_size: int | None = None
    #: training ends after so many; None: when the recording is complete
    steps: int | None = None
    #: training goes on until the recording is complete; loss and accuracy are those after so many steps
    compared_steps: int | None = None
    workers: int | None = None
    precision: str = "fp32"
    image_size: int | None = None
    #: generated images, where `data` is None
    images: int | None = None
    #: images that are not trained on, for accuracy; None: all are trained on and accuracy is not measured
    held_out: int | None = None


def decide(options: Options, cores: int | None = None) -> tuple[Options, list[str]]:
    """Fill in what was left to the machine, and say where sizes were shrunk for it. Raises UnusableOptionsError."""
    cores = usable_cores() if cores is None else cores
    device = resolved_device(options.device)
    if device == "cpu" and options.precision == "fp16":
        raise UnusableOptionsError("--precision fp16 needs a GPU; use bf16 or fp32 on a CPU")
    image_size, batch_size, images = _sizes(device, cores)
    chosen = replace(
        options,
        device=device,
        batch_size=options.batch_size or batch_size,
        workers=_workers(device, cores) if options.workers is None else options.workers,
        image_size=options.image_size or image_size,
        images=options.images or images,
        held_out=options.held_out or (_HELD_OUT_IMAGES if options.mode == "infer" else None),
    )
    shrunk = options.batch_size is None and options.image_size is None and device == "cpu" and cores <= _SOME_CORES
    note = f"sizes fit for {cores} cores: images of {chosen.image_size} pixels, batch {chosen.batch_size}"
    return chosen, [note] if shrunk else []


def resolved_device(device: str) -> str:
    """Return cpu or cuda. Raises UnusableOptionsError where there is no such device."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UnusableOptionsError("--device cuda: PyTorch finds no usable CUDA device here; use --device cpu")
    return device


def _sizes(device: str, cores: int) -> tuple[int, int, int]:
    """Return image size, batch size and number of generated images."""
    if device == "cuda":
        return 224, 64, 2048
    if cores <= _FEW_CORES:
        return 64, 16, 512
    return (128, 32, 1024) if cores <= _SOME_CORES else (224, 32, 1024)


def _workers(device: str, cores: int) -> int:
    if device == "cpu" and cores <= _FEW_CORES:
        return 1
    return max(1, min(_MOST_WORKERS, cores - 1))
