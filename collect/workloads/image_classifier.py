"""Train an image classifier the usual way: JPEG files, a DataLoader with workers, a torchvision model, SGD.

Nothing is tuned: it is the loop of a tutorial, with pinned memory on a GPU, so that what the report says about it is
what it would say about many first versions of a training script.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torchvision
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from collect.machine import usable_cores
from collect.ranks import Placement, placement
from collect.recorder import Recorder
from collect.workloads.images import generated_images

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collect.progress import Progress

NAME = "image-classifier"
#: a machine with so few cores gets smaller images, so that a run takes less than a minute
_FEW_CORES = 4
_SOME_CORES = 16
_SEED = 2023
_LEARNING_RATE = 0.02
_MOMENTUM = 0.9
#: stored images are larger than what the network sees, as photographs are
_STORED_MARGIN = 1.15
_MOST_WORKERS = 16


class UnusableOptionsError(ValueError):
    """The options ask for what this machine, or torchvision, does not have."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to train and how; None is decided by the machine."""

    device: str = "auto"
    model: str = "resnet18"
    data: str | None = None
    batch_size: int | None = None
    steps: int | None = None
    workers: int | None = None
    precision: str = "fp32"
    image_size: int | None = None
    #: generated images, where `data` is None
    images: int | None = None


def decide(options: Options, cores: int | None = None) -> tuple[Options, list[str]]:
    """Fill in what was left to the machine, and say where sizes were shrunk for it. Raises UnusableOptionsError."""
    cores = usable_cores() if cores is None else cores
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise UnusableOptionsError("--device cuda: PyTorch finds no usable CUDA device here; use --device cpu")
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
    )
    shrunk = options.batch_size is None and options.image_size is None and device == "cpu" and cores <= _SOME_CORES
    note = f"sizes fit for {cores} cores: images of {chosen.image_size} pixels, batch {chosen.batch_size}"
    return chosen, [note] if shrunk else []


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


def run(
    options: Options,
    out: Path | None = None,
    *,
    baseline_steps: int = 30,
    profile: bool = True,
    telemetry: bool = True,
    progress: Progress | None = None,
    command: Sequence[str] | None = None,
) -> Path:
    """Train until the recording is complete, or for `steps` steps, and return the run directory.

    Raises UnusableOptionsError before anything is written.
    """
    options, notes = decide(options)
    where = placement()
    with _process_group(options, where):
        job = _Job(options, where)
        with Recorder(
            out,
            label=f"{options.model}-{options.device}",
            workload=NAME,
            batch_size=options.batch_size,
            precision=options.precision,
            workers=options.workers,
            steps=options.steps,
            baseline_steps=baseline_steps,
            profile=profile,
            telemetry=telemetry,
            options=asdict(options),
            notes=notes,
            command=command,
            progress=progress,
        ) as recorder:
            job.train(recorder)
        return recorder.out


class _Job:
    """Model, data and optimizer of one rank."""

    def __init__(self, options: Options, where: Placement) -> None:
        torch.manual_seed(_SEED)
        self._options = options
        self._device = torch.device(f"cuda:{where.local_rank}" if options.device == "cuda" else "cpu")
        self._loader = _loader(options, where)
        self._model = _model(options, where, self._device, classes=len(self._loader.dataset.classes))
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=_LEARNING_RATE, momentum=_MOMENTUM)
        self._loss = torch.nn.CrossEntropyLoss()
        self._scaler = torch.amp.GradScaler("cuda", enabled=options.precision == "fp16")

    def train(self, recorder: Recorder) -> None:
        """Take steps until the recorder has enough, or as many as were asked for."""
        for taken, (images, labels) in enumerate(recorder.watch(self._loader), start=1):
            loss = self._step(images, labels)
            recorder.step(loss=loss)
            if taken == self._options.steps or (self._options.steps is None and recorder.done):
                return

    def _step(self, images: Any, labels: Any) -> Any:  # noqa: ANN401 - tensors
        images = images.to(self._device, non_blocking=True)
        labels = labels.to(self._device, non_blocking=True)
        self._optimizer.zero_grad(set_to_none=True)
        with self._autocast():
            loss = self._loss(self._model(images), labels)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss

    def _autocast(self) -> Any:  # noqa: ANN401 - a context manager of torch
        if self._options.precision == "fp32":
            return contextlib.nullcontext()
        dtype = torch.bfloat16 if self._options.precision == "bf16" else torch.float16
        return torch.autocast(self._device.type, dtype)


@contextlib.contextmanager
def _process_group(options: Options, where: Placement) -> Iterator[None]:
    """Join the other ranks, where there are any."""
    if where.is_alone:
        yield
        return
    if options.device == "cuda":
        torch.cuda.set_device(where.local_rank)
    torch.distributed.init_process_group("nccl" if options.device == "cuda" else "gloo")
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


def _model(options: Options, where: Placement, device: Any, classes: int) -> Any:  # noqa: ANN401 - a torch module
    import torch

    try:
        model = torchvision.models.get_model(options.model, weights=None, num_classes=classes)
    except ValueError as error:
        raise UnusableOptionsError(f"--model {options.model}: {error}") from error
    model = model.to(device)
    if where.is_alone:
        return model
    ids = [device.index] if device.type == "cuda" else None
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)


def _loader(options: Options, where: Placement) -> Any:  # noqa: ANN401 - a DataLoader
    size = options.image_size or 0
    transform = v2.Compose(
        [
            v2.PILToTensor(),
            v2.RandomResizedCrop(size, scale=(0.6, 1.0), antialias=True),
            v2.RandomHorizontalFlip() if options.data else v2.Identity(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ]
    )
    try:
        dataset = ImageFolder(str(_images(options, where)), transform=transform)
    except FileNotFoundError as error:
        raise UnusableOptionsError(f"--data {options.data}: {error}") from error
    return DataLoader(
        dataset,
        batch_size=options.batch_size,
        sampler=_EndlessSampler(dataset, where),
        num_workers=options.workers or 0,
        pin_memory=options.device == "cuda",
        persistent_workers=bool(options.workers),
        drop_last=True,
    )


def _images(options: Options, where: Placement) -> Path:
    if options.data is not None:
        return Path(options.data)
    count, size = options.images or 0, round((options.image_size or 0) * _STORED_MARGIN)
    if where.local_rank == 0:
        generated_images(count, size)
    if not where.is_alone:
        torch.distributed.barrier()
    return generated_images(count, size)


class _EndlessSampler:
    """One epoch after the other without an end, each shuffled anew, this rank's share of it."""

    def __init__(self, dataset: Any, where: Placement) -> None:  # noqa: ANN401 - an ImageFolder
        self._sampler: DistributedSampler[Any] = DistributedSampler(
            dataset, num_replicas=where.world_size, rank=where.rank, shuffle=True, seed=_SEED, drop_last=False
        )

    def __iter__(self) -> Iterator[int]:
        epoch = 0
        while True:
            self._sampler.set_epoch(epoch)
            yield from self._sampler
            epoch += 1
