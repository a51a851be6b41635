"""How many held-out images does a model tell apart, and how long does it take for a single one?"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

_WARM_UP_IMAGES = 3
_TIMED_IMAGES = 50


def autocast(device: Any, precision: str) -> Any:  # noqa: ANN401 - a context manager of torch
    """Return what computes in that precision."""
    if precision == "fp32":
        return contextlib.nullcontext()
    return torch.autocast(device.type, torch.bfloat16 if precision == "bf16" else torch.float16)


def evaluate(model: Any, batches: Iterable[Any], device: Any, precision: str) -> dict[str, Any]:  # noqa: ANN401
    """Return `held_out_images`, `held_out_correct` and `held_out_loss` (the mean over images)."""
    images_seen = correct = 0
    loss_sum = 0.0
    model.eval()
    with torch.no_grad(), autocast(device, precision):
        for images, labels in batches:
            scores = model(images.to(device)).float().cpu()
            loss_sum += float(torch.nn.functional.cross_entropy(scores, labels, reduction="sum"))
            correct += int((scores.argmax(1) == labels).sum())
            images_seen += len(labels)
    loss = loss_sum / images_seen if images_seen else None
    return {"held_out_images": images_seen, "held_out_correct": correct, "held_out_loss": loss}


def single_image_ns(model: Any, image: Any, device: Any, precision: str) -> list[int]:  # noqa: ANN401
    """Return the nanoseconds from one decoded image in host memory to its class there, some fifty times."""
    taken = []
    model.eval()
    with torch.no_grad(), autocast(device, precision):
        for _ in range(_WARM_UP_IMAGES + _TIMED_IMAGES):
            started_ns = time.perf_counter_ns()
            model(image.unsqueeze(0).to(device)).argmax(1).cpu()
            taken.append(time.perf_counter_ns() - started_ns)
    return taken[_WARM_UP_IMAGES:]
