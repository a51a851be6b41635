"""What does a detector's finding look like on a real run? The clearest one of each among the sample runs.

`python -m benchmarks.examples` writes examples.json beside this file by diagnosing what lies below sample_traces/.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

STORED = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One finding or note of one sample run; its times in ms, rounded to four significant digits."""

    #: folder below the project's root
    run: str
    #: model or script that ran, on which device
    label: str
    device: str
    step_ms: float
    #: saved of every step; None for a note
    saving_ms: float | None
    low_ms: float | None
    high_ms: float | None
    basis: str | None
    message: str
    location: str | None


def examples() -> dict[str, Example]:
    """Return the example of each detector by id; a detector that no sample run shows has none."""
    return {detector: Example(**fields) for detector, fields in json.loads(STORED.read_text(encoding="utf-8")).items()}
