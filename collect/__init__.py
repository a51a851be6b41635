"""Record a training run: step times, profiler windows, telemetry.

`from collect import Recorder` for a loop of your own, `python -m collect` for a built-in workload or a whole script.
Importing this package imports no torch.
"""

from __future__ import annotations

from collect.recorder import Recorder

__all__ = ["Recorder"]
