"""Start the sampler beside the training process, and end it.

The sampler is an ordinary new process: never a fork of this one (which holds CUDA and threads), never a spawn that
would import the user's main module again. It ends when told to, and also when this process is gone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_STOP_WAIT_S = 5.0
_ROOT = Path(__file__).resolve().parents[2]
# the current folder may hold a `collect.py` of the user's own: look for ours where this file lies
_START = (
    "import sys; sys.path[:] = [{root!r}] + [p for p in sys.path if p]; "
    "from collect.telemetry.sampler import main; sys.exit(main())"
)


class SamplerProcess:
    """The sampler of this host, for as long as the run is open."""

    def __init__(self, path: Path, options: Sequence[str] = ()) -> None:
        command = [sys.executable, "-c", _START.format(root=str(_ROOT)), str(path), "--pid", str(os.getpid()), *options]
        self._process = subprocess.Popen(  # noqa: S603 - our own module, by this interpreter
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Ctrl-C goes to the whole foreground group; the sampler must outlive the last step
            start_new_session=True,
        )

    def stop(self) -> None:
        """Ask for a last sample and wait for the end; idempotent."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            self._process.wait(_STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_STOP_WAIT_S)
