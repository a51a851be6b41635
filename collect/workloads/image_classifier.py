"""Train an image classifier the usual way, or use it: JPEG files, a DataLoader with workers, a torchvision model, SGD.

Nothing is tuned: it is the loop of a tutorial, with pinned memory on a GPU, so that what the report says about it is
what it would say about many first versions of a training script.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch
import torchvision

from collect.ranks import Placement, placement
from collect.recorder import Recorder
from collect.workloads import image_data
from collect.workloads.evaluation import autocast, evaluate
from collect.workloads.images import SEED
from collect.workloads.inference import infer
from collect.workloads.options import Options, UnusableOptionsError, decide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from collect.limits import Limits
    from collect.progress import Progress

__all__ = ["Options", "UnusableOptionsError", "decide", "run"]

NAME = "image-classifier"
_LEARNING_RATE = 0.02
_MOMENTUM = 0.9


def run(
    options: Options,
    out: Path | None = None,
    *,
    baseline_steps: int = 30,
    limits: Limits | None = None,
    profile: bool = True,
    telemetry: bool = True,
    progress: Progress | None = None,
    command: Sequence[str] | None = None,
    weights: Path | None = None,
    keep_weights: Path | None = None,
) -> Path:
    """Train, or infer, until the recording is complete, or for `steps` steps, and return the run directory.

    `weights` are what a model starts with, `keep_weights` is where to put them after training.
    Raises UnusableOptionsError before anything is written.
    """
    options, notes = decide(options)
    where = placement()
    with _process_group(options, where):
        device = torch.device(f"cuda:{where.local_rank}" if options.device == "cuda" else "cpu")
        model = _model(options, where, device, weights)
        job = None if options.mode == "infer" else _Training(options, where, device, model)
        with Recorder(
            out,
            label=f"{options.model}-{'infer-' if options.mode == 'infer' else ''}{options.device}",
            workload=NAME,
            batch_size=options.batch_size,
            precision=options.precision,
            workers=options.workers,
            steps=options.steps,
            baseline_steps=baseline_steps,
            limits=limits,
            profile=profile,
            telemetry=telemetry,
            options={**asdict(options), "seed": SEED},
            notes=notes,
            command=command,
            progress=progress,
        ) as recorder:
            if job is None:
                infer(recorder, options, where, device, model, trained=weights is not None)
            else:
                job.train(recorder, keep_weights)
        return recorder.out


class _Training:
    """Model, data and optimizer of one rank."""

    def __init__(self, options: Options, where: Placement, device: Any, model: Any) -> None:  # noqa: ANN401
        self._options = options
        self._where = where
        self._device = device
        self._bare = model
        self._model = model if where.is_alone else _distributed(model, device)
        self._loader = image_data.training_loader(options, where)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=_LEARNING_RATE, momentum=_MOMENTUM)
        self._loss = torch.nn.CrossEntropyLoss()
        self._scaler = torch.amp.GradScaler("cuda", enabled=options.precision == "fp16")
        self._compared: dict[str, Any] | None = None

    def train(self, recorder: Recorder, keep_weights: Path | None) -> None:
        """Take steps until the recorder has enough, or as many as were asked for; then look at held-out images."""
        for taken, (images, labels) in enumerate(recorder.watch(self._loader), start=1):
            loss = self._step(images, labels)
            recorder.step(loss=loss)
            if taken == self._options.compared_steps:
                # training goes on for the clock's sake, on faster devices for longer: results are those after equal steps
                self._compared = {name: value.clone() for name, value in self._bare.state_dict().items()}
            if self._is_enough(taken, recorder):
                self._conclude(recorder, taken, keep_weights)
                return

    def _is_enough(self, taken: int, recorder: Recorder) -> bool:
        if self._options.steps is not None:
            return taken == self._options.steps
        return recorder.done and taken >= (self._options.compared_steps or 0)

    def _conclude(self, recorder: Recorder, taken: int, keep_weights: Path | None) -> None:
        if self._compared is not None:
            self._bare.load_state_dict(self._compared)
        if keep_weights is not None:
            torch.save({name: value.cpu() for name, value in self._bare.state_dict().items()}, keep_weights)
        if self._options.held_out:
            recorder.end_epoch()
            steps = taken if self._compared is None else self._options.compared_steps
            loader = image_data.held_out_loader(self._options, self._where)
            seen = evaluate(self._bare, loader, self._device, self._options.precision)
            recorder.keep_results({"after_steps": steps, **seen})

    def _step(self, images: Any, labels: Any) -> Any:  # noqa: ANN401 - tensors
        images = images.to(self._device, non_blocking=True)
        labels = labels.to(self._device, non_blocking=True)
        self._optimizer.zero_grad(set_to_none=True)
        with autocast(self._device, self._options.precision):
            loss = self._loss(self._model(images), labels)
        self._scaler.scale(loss).backward()
        self._scaler.step(self._optimizer)
        self._scaler.update()
        return loss


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


def _model(options: Options, where: Placement, device: Any, weights: Path | None) -> Any:  # noqa: ANN401 - a torch module
    torch.manual_seed(SEED)
    try:
        model = torchvision.models.get_model(options.model, weights=None, num_classes=image_data.classes(options, where))
    except ValueError as error:
        if isinstance(error, UnusableOptionsError):
            raise
        raise UnusableOptionsError(f"--model {options.model}: {error}") from error
    if weights is not None:
        model.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return model.to(device)


def _distributed(model: Any, device: Any) -> Any:  # noqa: ANN401 - torch modules
    ids = [device.index] if device.type == "cuda" else None
    return torch.nn.parallel.DistributedDataParallel(model, device_ids=ids)
