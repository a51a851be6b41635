"""From the lines that the sampler writes to the notes of a report: nothing is lost between them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from analyze import engine
from analyze.engine import Workspace
from analyze.ingest import run_files
from tests.states import GB, MANIFEST
from tests.telemetry import S, phases

if TYPE_CHECKING:
    from pathlib import Path

HARDWARE = (
    "thermal-throttle",
    "power-cap",
    "low-clock",
    "idle-gpu",
    "memory-nearly-full",
    "cpu-saturated",
    "host-memory-pressure",
    "slow-storage",
)
CARD = {
    "source": "nvml",
    "device_uuid": "GPU-aaaa",
    "utilisation_percent": 97,
    "memory_used_bytes": 70 * GB,
    "memory_total_bytes": 140 * GB,
    "power_w": 400.0,
    "temperature_c": 60,
    "sm_clock_mhz": 1980,
    "throttle_reasons": [],
}
HOST = {
    "source": "psutil",
    "cpu_percent": 30.0,
    "cpu_percent_per_core": [30.0] * 16,
    "memory_used_bytes": 30 * GB,
    "memory_available_bytes": 98 * GB,
    "swap_used_bytes": 0,
    "process_rss_bytes": 5 * GB,
    "process_cpu_percent": 100.0,
    "process_children_count": 4,
    "process_children_cpu_percent": 200.0,
    "disk_read_bytes": 1000,
    "net_received_bytes": 1000,
}


def _states(tmp_path: Path, card: dict[str, object], host: dict[str, object]) -> dict[str, tuple[str, str | None]]:
    """State and first message, or reason, of each hardware detector for ten seconds of such samples after an idle one."""
    first = [CARD | {"time_ns": 0, "throttle_reasons": ["idle"]}, HOST | {"time_ns": 0}]
    rest = [sample | {"time_ns": second * S} for second in range(2, 12) for sample in (CARD | card, HOST | host)]
    file = tmp_path / "telemetry.h.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in [{"header": {"host": "h"}}, *first, *rest]))
    log = phases(("settling", 0, 2), ("baseline", 2, 12), input_wait_ns=0)
    workspace = Workspace({"telemetry": run_files.telemetry(file, "h")[1], "step_log": log, "manifest": MANIFEST})
    outcomes = {identity: workspace.outcome(*engine.detectors()[identity]) for identity in HARDWARE}
    return {
        identity: (outcome.state, outcome.findings[0].message if outcome.findings else outcome.reason)
        for identity, outcome in outcomes.items()
    }


def test_a_healthy_machine_is_clear_of_all(tmp_path: Path) -> None:
    assert _states(tmp_path, {}, {}) == dict.fromkeys(HARDWARE, ("clear", None))


@pytest.mark.parametrize(
    ("card", "host", "found"),
    [
        ({"throttle_reasons": ["software_thermal"]}, {}, "thermal-throttle"),
        ({"throttle_reasons": ["power_cap", "sync_boost"], "sm_clock_mhz": 1400}, {}, "power-cap"),
        ({"sm_clock_mhz": 1000}, {}, "low-clock"),
        ({"utilisation_percent": 0}, {}, "idle-gpu"),
        ({"memory_used_bytes": 139 * GB}, {}, "memory-nearly-full"),
        ({}, {"cpu_percent": 99.0}, "cpu-saturated"),
        ({}, {"memory_available_bytes": GB}, "host-memory-pressure"),
    ],
)
def test_one_fault_is_one_note(tmp_path: Path, card: dict[str, object], host: dict[str, object], found: str) -> None:
    states = _states(tmp_path, card, host)
    assert [identity for identity, (state, _) in states.items() if state == "found"] == [found]


def test_a_machine_without_a_gpu_is_not_called_healthy(tmp_path: Path) -> None:
    states = _states(tmp_path, {"source": "rapl"}, {})
    assert states["thermal-throttle"] == ("skipped", "only 0 samples of a GPU fall within the steps")
