"""Find the steps of a loop that knows nothing of us: optimizer steps close them, DataLoaders say what was waited for.

A loop may step its optimizer every n-th batch (that is one step, of n batches), and may have several optimizers (GANs,
one optimizer per parameter, optimizers inside optimizers): the first one that steps is the one whose steps count.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from collect.batches import loader_steps
from collect.import_hooks import on_import
from collect.machine import cuda_in_use

if TYPE_CHECKING:
    from types import ModuleType

    from collect.recorder import Recorder

_log = logging.getLogger(__name__)
#: the first optimizer is taken for retired after so many steps of others without one of its own
_RETIRED_AFTER_STEPS = 50


class LeadingOptimizer:
    """Decides which optimizer's steps close a training step."""

    def __init__(self) -> None:
        self._leader: weakref.ref[Any] | None = None
        self._others = 0

    def leads(self, optimizer: Any) -> bool:  # noqa: ANN401 - a torch optimizer
        """Whether this optimizer's step closes a training step."""
        leader = self._leader() if self._leader is not None else None
        self._others = 0 if leader is optimizer else self._others + 1
        if leader is None or self._others > _RETIRED_AFTER_STEPS:
            self._leader, self._others = weakref.ref(optimizer), 0
            return True
        return leader is optimizer


class ScriptHooks:
    """Tells the recorder about batches and steps of the script that runs in this process."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._leading = LeadingOptimizer()
        self._process = os.getpid()
        self._thread = threading.get_ident()
        self._feeding: weakref.ref[Any] | None = None
        self._training: weakref.ref[Any] | None = None
        self._handle: Any = None
        self._active = True

    def install(self) -> None:
        """Hook into torch, now or when the script imports it."""
        on_import("torch.optim.optimizer", self._watch_optimizers)
        on_import("torch.utils.data.dataloader", self._watch_loaders)
        on_import("torch._dynamo", self._hide_from_compiler)

    def remove(self) -> None:
        """Say nothing more; what is left in torch passes calls on."""
        self._active = False
        if self._handle is not None:
            self._handle.remove()

    def _watch_optimizers(self, module: ModuleType) -> None:
        self._handle = module.register_optimizer_step_post_hook(self._after_optimizer_step)

    def _hide_from_compiler(self, dynamo: ModuleType) -> None:
        """Keep torch.compile from tracing into the hook, once there is a compiler that could."""
        if self._handle is not None:
            self._handle.remove()
            optimizer = sys.modules["torch.optim.optimizer"]
            self._handle = optimizer.register_optimizer_step_post_hook(dynamo.disable(self._after_optimizer_step))

    def _watch_loaders(self, module: ModuleType) -> None:
        loader, iterator = module.DataLoader, module._BaseDataLoaderIter  # noqa: SLF001 - the one place all loaders pass
        loader.__iter__ = self._timed_start(loader.__iter__)
        iterator.__next__ = self._timed_next(iterator.__next__)

    def _after_optimizer_step(self, optimizer: Any, _arguments: Any, _keywords: Any) -> None:  # noqa: ANN401
        if not self._is_ours() or _is_capturing() or not self._leading.leads(optimizer):
            return
        self._thread = threading.get_ident()
        self._training = self._feeding
        self._safely(self._recorder.step)

    def _timed_start(self, original: Any) -> Any:  # noqa: ANN401
        @functools.wraps(original)
        def start(loader: Any) -> Any:  # noqa: ANN401
            if not self._is_ours():
                return original(loader)
            self._safely(self._recorder.begin_epoch)
            self._safely(self._recorder.expect_prefetch, loader)
            started_ns = time.perf_counter_ns()
            batches = original(loader)
            self._safely(self._recorder.waited, time.perf_counter_ns() - started_ns)
            return batches

        return start

    def _timed_next(self, original: Any) -> Any:  # noqa: ANN401
        @functools.wraps(original)
        def following(iterator: Any) -> Any:  # noqa: ANN401
            if not self._is_ours():
                return original(iterator)
            started_ns = time.perf_counter_ns()
            try:
                batch = original(iterator)
            except StopIteration:
                if self._training is not None and self._training() is iterator:
                    self._safely(self._recorder.end_epoch)
                raise
            self._safely(self._took, iterator, time.perf_counter_ns() - started_ns, batch)
            return batch

        return following

    def _took(self, iterator: Any, wait_ns: int, batch: Any) -> None:  # noqa: ANN401
        self._feeding = weakref.ref(iterator)
        total = loader_steps(iterator)
        taken = getattr(iterator, "_num_yielded", None)
        left = None if total is None or taken is None else total - taken
        self._recorder.took_batch(wait_ns, batch, left, total)

    def _is_ours(self) -> bool:
        """Whether the training thread of the recorded process is calling: not a worker, not a prefetching thread."""
        return self._active and threading.get_ident() == self._thread and os.getpid() == self._process

    def _safely(self, action: Any, *arguments: Any) -> None:  # noqa: ANN401
        """Never let our own failure end the user's training."""
        try:
            action(*arguments)
        except Exception as error:  # noqa: BLE001 - see above
            self._active = False
            self._recorder.note(f"recording stopped: {type(error).__name__}: {error}")
            _log.exception("recording stopped; the script goes on")


def _is_capturing() -> bool:
    """Whether a CUDA graph is being captured: that step is not one that trains."""
    if not cuda_in_use():
        return False
    import torch

    return bool(torch.cuda.is_current_stream_capturing())
