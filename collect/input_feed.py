"""What did the step that runs now take in: batches, samples, and how long were they waited for?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from collect.batches import batch_samples


@dataclass
class InputFeed:
    """The input of one step; forgotten at its end. What is known of the epoch stays."""

    wait_ns: int = 0
    batches: int = 0
    samples: int | None = None
    #: batches that the epoch still has, and has in all; None where the loader does not know
    epoch_left: int | None = None
    epoch_batches: int | None = None

    def took(self, wait_ns: int, batch: Any, left: int | None, total: int | None) -> None:  # noqa: ANN401
        """Count a batch that came in."""
        self.wait_ns += wait_ns
        self.batches += 1
        self.epoch_left, self.epoch_batches = left, total
        samples = batch_samples(batch)
        if samples is not None:
            self.samples = samples + (self.samples or 0)

    def forget(self) -> None:
        """Begin a step."""
        self.wait_ns = self.batches = 0
        self.samples = None

    @property
    def steps_left(self) -> int | None:
        """Steps that the epoch still has, at as many batches each as this one took."""
        return None if self.epoch_left is None else self.epoch_left // max(1, self.batches)

    @property
    def epoch_steps(self) -> int | None:
        """Steps of a whole epoch."""
        return None if self.epoch_batches is None else self.epoch_batches // max(1, self.batches)
