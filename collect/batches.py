"""How many samples does a batch hold, and how far ahead does its loader work?"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

_DEPTH = 4


def batch_samples(batch: Any, depth: int = _DEPTH) -> int | None:  # noqa: ANN401
    """Return the length of the first dimension of the first tensor or array; None where there is none."""
    shape = getattr(batch, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    if depth == 0 or isinstance(batch, str | bytes):
        return None
    values: Any = batch.values() if isinstance(batch, Mapping) else batch if isinstance(batch, Sequence) else ()
    for value in values:
        found = batch_samples(value, depth - 1)
        if found is not None:
            return found
    return None


def prefetched_batches(loader: Any) -> int:  # noqa: ANN401
    """Return how many batches a loader's workers may hold ready: zero without workers, or where it cannot be told."""
    workers = getattr(loader, "num_workers", 0) or getattr(loader, "_num_workers", 0) or 0
    ahead = getattr(loader, "prefetch_factor", None) or getattr(loader, "_prefetch_factor", None) or 2
    return int(workers) * int(ahead) if isinstance(workers, int) and isinstance(ahead, int) else 0


def loader_steps(loader: Any) -> int | None:  # noqa: ANN401
    """Return the number of batches in an epoch; None where the loader does not know."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def labels_its_waits(loader: Any) -> bool:  # noqa: ANN401
    """Whether the loader annotates the wait for a batch in a profile by itself, as torch's own do."""
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(loader, data.DataLoader)
