"""What is a probe? It knows its device, never the clock or the file."""

from __future__ import annotations

from typing import Any, Protocol

#: one line of telemetry without its time: `source`, for devices `device_uuid`, then metrics with the unit in the name
Sample = dict[str, Any]


class Probe(Protocol):
    """Something that can be asked for samples."""

    #: what the lines say under `source`
    source: str
    #: seconds between two samples that this device is worth
    interval_s: float
    #: metric → why it cannot be had here
    unsupported: dict[str, str]

    def open(self) -> bool:
        """Find the device and prime counters that need a first reading; False where there is nothing to sample."""

    def sample(self) -> list[Sample]:
        """Read once, without waiting. A metric that cannot be had is absent or None, never 0."""

    def devices(self) -> list[dict[str, Any]]:
        """Describe the devices sampled, for the header."""

    def close(self) -> None:
        """Let the device go."""
