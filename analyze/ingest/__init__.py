"""The only code that opens files: from any trace, run directory, archive or address to typed frames."""

from __future__ import annotations

from analyze.ingest.limits import Limits
from analyze.ingest.read import read
from analyze.ingest.recording import Progress, ReadCancelled, Recording, SetAside, Trace

__all__ = ["Limits", "Progress", "ReadCancelled", "Recording", "SetAside", "Trace", "read"]
