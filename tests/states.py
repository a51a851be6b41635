"""Rows of device_state and host_state: a healthy machine, of which a test changes what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.analyses.device_state import COLUMNS as DEVICE_COLUMNS
from analyze.analyses.host_state import COLUMNS as HOST_COLUMNS
from tests.builders import frame

if TYPE_CHECKING:
    import polars as pl

GB = 1_000_000_000
#: the manifest of a run on the first of a host's cards
MANIFEST = {
    "device": "cuda",
    "devices": [{"index": 0, "uuid": "GPU-aaaa", "name": "NVIDIA H200"}, {"index": 1, "uuid": "GPU-bbbb", "name": "NVIDIA H200"}],
    "current_device_index": 0,
    "batch_size": 64,
    "workers": 4,
    "host": {"name": "h", "cores": 16, "cores_usable": 16, "memory_bytes": 128 * GB, "memory_limit_bytes": None},
}


def device(**changed: object) -> dict[str, object]:
    """A busy, cool card at its full clock, half full."""
    healthy = {
        "host": "h",
        "device_uuid": "GPU-aaaa",
        "samples": 100,
        "utilisation_percent": 95.0,
        "highest_utilisation_percent": 100.0,
        "power_w": 500.0,
        "highest_power_w": 600.0,
        "temperature_c": 60.0,
        "sm_clock_mhz": 1950.0,
        "highest_sm_clock_mhz": 1980.0,
        "memory_used_bytes": 70 * GB,
        "memory_total_bytes": 140 * GB,
        "thermal_share": 0.0,
        "power_cap_share": 0.0,
        "power_brake_share": 0.0,
        "set_clock_share": 0.0,
    }
    return healthy | changed


def devices(*rows: dict[str, object]) -> pl.DataFrame:
    """A device_state frame."""
    return frame(DEVICE_COLUMNS, *rows)


def host(**changed: object) -> dict[str, object]:
    """A host of 16 processors, half of them busy, with memory left."""
    healthy = {
        "host": "h",
        "samples": 40,
        "cpu_percent": 50.0,
        "core_count": 16,
        "process_cpu_percent": 100.0,
        "process_children_cpu_percent": 380.0,
        "process_children_count": 4.0,
        "process_rss_bytes": 20 * GB,
        "memory_available_bytes": 90 * GB,
        "memory_total_bytes": 128 * GB,
        "swap_growth_bytes": 0,
        "disk_read_bytes_per_s": 0.0,
        "net_received_bytes_per_s": 0.0,
    }
    return healthy | changed


def hosts(*rows: dict[str, object]) -> pl.DataFrame:
    """A host_state frame."""
    return frame(HOST_COLUMNS, *rows)
