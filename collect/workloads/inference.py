"""Use a classifier: batches of held-out images in, classes out, each batch waited for as somebody who asked would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from collect.workloads import image_data
from collect.workloads.evaluation import autocast, evaluate, single_image_ns

if TYPE_CHECKING:
    from collect.ranks import Placement
    from collect.recorder import Recorder
    from collect.workloads.options import Options


def infer(recorder: Recorder, options: Options, where: Placement, device: Any, model: Any, *, trained: bool) -> None:  # noqa: ANN401
    """Classify batches until the recorder has enough, then single images, then every held-out image once.

    A step is one batch; without its wait for input it is the latency from a batch in host memory to its classes there.
    Accuracy is left unknown where the model was not trained: it would say nothing.
    """
    model.eval()
    first: Any = None
    with torch.no_grad(), autocast(device, options.precision):
        for taken, (images, _) in enumerate(recorder.watch(image_data.held_out_stream(options, where)), start=1):
            model(images.to(device, non_blocking=True)).argmax(1).cpu()
            recorder.step()
            first = images[0] if first is None else first
            if taken == options.steps or (options.steps is None and recorder.done):
                break
    recorder.end_epoch()
    seen = evaluate(model, image_data.held_out_loader(options, where), device, options.precision) if trained else {}
    recorder.keep_results(
        {"trained": trained, "single_image_ns": single_image_ns(model, first, device, options.precision), **seen}
    )
