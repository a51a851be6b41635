"""Keep every step of the run on disk, line by line, as it becomes final."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from collect.step_clock import Step

#: made once: a step log must cost next to nothing
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


class StepLog:
    """`steps.<rank>.jsonl`: one object per step, flushed at once, so that a killed run keeps all it had."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self.samples: int | None = None
        self.count = 0

    def write(self, step: Step) -> None:
        """Append one step."""
        line = {
            "step": step.step,
            "start_ns": step.start_ns,
            "dur_ns": step.dur_ns,
            "host_dur_ns": step.host_dur_ns,
            "input_wait_ns": step.input_wait_ns,
            "samples": step.samples,
            # JSON has no NaN: a loss that is not finite is as good as unknown
            "loss": step.loss if step.loss is not None and math.isfinite(step.loss) else None,
            "phase": step.phase,
        }
        self._file.write(_ENCODE(line) + "\n")
        self._file.flush()
        self.count += 1
        self.samples = step.samples if step.samples is not None else self.samples

    def close(self) -> None:
        """Close the file."""
        self._file.close()
