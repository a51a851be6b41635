"""Which images are trained on, which are held out, and how do they become batches?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, DistributedSampler, Subset
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

from collect.ranks import Placement
from collect.workloads.images import SEED, generated_images
from collect.workloads.options import UnusableOptionsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from collect.workloads.options import Options

#: stored images are larger than what the network sees, as photographs are
_STORED_MARGIN = 1.15
_HELD_OUT_SEED = SEED + 1
#: of a small set of the user's no more than a fifth is held out
_LEAST_TRAINED_PER_HELD_OUT = 5
_MEAN, _DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def training_loader(options: Options, where: Placement) -> Any:  # noqa: ANN401 - a DataLoader
    """Return this rank's share of the training images, endlessly, shuffled anew for every epoch."""
    return _loader(options, _dataset(options, where, held_out=False), where, shuffle=True)


def held_out_stream(options: Options, where: Placement) -> Any:  # noqa: ANN401 - a DataLoader
    """Return the held-out images again and again, for measuring inference."""
    return _loader(options, _dataset(options, where, held_out=True), where, shuffle=False)


def held_out_loader(options: Options, where: Placement) -> Any:  # noqa: ANN401 - a DataLoader
    """Return the held-out images once, in order, loaded by this process."""
    return DataLoader(_dataset(options, where, held_out=True), batch_size=options.batch_size)


def classes(options: Options, where: Placement) -> int:
    """Return how many classes the images have."""
    return len(_folder(options, where, _seen_in_evaluation(options), held_out=False).classes)


def make_images(options: Options) -> None:
    """Write the generated images, or look at the user's. Raises UnusableOptionsError where those cannot be used."""
    for held_out in (False, True) if options.held_out else (False,):
        _dataset(options, Placement(), held_out=held_out)


def _loader(options: Options, dataset: Any, where: Placement, *, shuffle: bool) -> Any:  # noqa: ANN401
    return DataLoader(
        dataset,
        batch_size=options.batch_size,
        sampler=EndlessSampler(dataset, where, shuffle=shuffle),
        num_workers=options.workers or 0,
        pin_memory=options.device == "cuda",
        persistent_workers=bool(options.workers),
        drop_last=True,
    )


def _dataset(options: Options, where: Placement, *, held_out: bool) -> Any:  # noqa: ANN401
    transform = _seen_in_evaluation(options) if held_out else _seen_in_training(options)
    folder = _folder(options, where, transform, held_out=held_out)
    if options.data is None or not options.held_out:
        return folder
    held = min(options.held_out, len(folder) // _LEAST_TRAINED_PER_HELD_OUT)
    if not held:
        raise UnusableOptionsError(f"--data {options.data}: {len(folder)} images are too few to hold some out")
    # the same split in every run, whatever else has used random numbers
    order = torch.randperm(len(folder), generator=torch.Generator().manual_seed(_HELD_OUT_SEED)).tolist()
    return Subset(folder, order[:held] if held_out else order[held:])


def _folder(options: Options, where: Placement, transform: Any, *, held_out: bool) -> Any:  # noqa: ANN401
    if options.data is not None:
        try:
            return ImageFolder(options.data, transform=transform)
        except FileNotFoundError as error:
            raise UnusableOptionsError(f"--data {options.data}: {error}") from error
    if where.local_rank == 0:
        _generated(options, held_out=held_out)
    if not where.is_alone:
        torch.distributed.barrier()
    return ImageFolder(str(_generated(options, held_out=held_out)), transform=transform)


def _generated(options: Options, *, held_out: bool) -> Path:
    size = round((options.image_size or 0) * _STORED_MARGIN)
    if held_out:
        return generated_images(options.held_out or 0, size, seed=_HELD_OUT_SEED)
    return generated_images(options.images or 0, size)


def _seen_in_training(options: Options) -> Any:  # noqa: ANN401 - a transform
    return v2.Compose(
        [
            v2.PILToTensor(),
            v2.RandomResizedCrop(options.image_size or 0, scale=(0.6, 1.0), antialias=True),
            # stripes of generated images have a direction
            v2.RandomHorizontalFlip() if options.data else v2.Identity(),
            *_as_numbers(),
        ]
    )


def _seen_in_evaluation(options: Options) -> Any:  # noqa: ANN401 - a transform
    size = options.image_size or 0
    return v2.Compose(
        [
            v2.PILToTensor(),
            v2.Resize(round(size * _STORED_MARGIN), antialias=True),
            v2.CenterCrop(size),
            *_as_numbers(),
        ]
    )


def _as_numbers() -> list[Any]:
    return [v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean=_MEAN, std=_DEVIATION)]


class EndlessSampler:
    """One epoch after the other without an end, this rank's share of it."""

    def __init__(self, dataset: Any, where: Placement, *, shuffle: bool = True) -> None:  # noqa: ANN401 - a Dataset
        self._sampler: DistributedSampler[Any] = DistributedSampler(
            dataset, num_replicas=where.world_size, rank=where.rank, shuffle=shuffle, seed=SEED, drop_last=False
        )

    def __iter__(self) -> Iterator[int]:
        epoch = 0
        while True:
            self._sampler.set_epoch(epoch)
            yield from self._sampler
            epoch += 1
