"""The rank's own device, among those that its process sees."""

from __future__ import annotations

import pytest

from analyze.analyses.device_state import COLUMNS as STATE
from analyze.analyses.rank_state import rank_state
from analyze.errors import MissingData
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import frame, table, work

INFO = TraceInfo(
    producer="kineto-cuda",
    devices=tuple(DeviceProperties(index=index, name="NVIDIA A100", memory_bytes=80) for index in range(2)),
)
KERNELS = table("kernels", work(0, 10, device=0), work(0, 500, device=1))
MANIFEST = {
    "host": {"name": "node7"},
    "devices": [{"index": 0, "uuid": "GPU-a"}, {"index": 1, "uuid": "GPU-b", "name": "A100", "memory_bytes": 80}],
}
SAMPLED = frame(
    STATE,
    {"host": "node7", "device_uuid": "GPU-a", "sm_clock_mhz": 900.0},
    {"host": "node7", "device_uuid": "GPU-b", "sm_clock_mhz": 1_400.0, "thermal_share": 0.2, "power_cap_share": 0.1,
     "memory_used_bytes": 60},
)  # fmt: skip


def test_the_device_that_works_is_the_rank_s():
    row = rank_state(INFO, KERNELS, MANIFEST, SAMPLED).row(0, named=True)
    assert (row["device_uuid"], row["sm_clock_mhz"], row["held_down_share"], row["peak_bytes"]) == ("GPU-b", 1_400.0, 0.2, 60)


def test_torch_s_own_peak_comes_first():
    manifest = MANIFEST | {"peak_memory_allocated_bytes": 42, "current_device_index": 1}
    assert rank_state(INFO, KERNELS, manifest, SAMPLED)["peak_bytes"].to_list() == [42]


def test_what_was_not_sampled_is_unknown():
    row = rank_state(INFO, KERNELS).row(0, named=True)
    assert (row["device_name"], row["memory_total_bytes"]) == ("NVIDIA A100", 80)
    assert {row[name] for name in ("host", "device_uuid", "sm_clock_mhz", "held_down_share", "peak_bytes")} == {None}


def test_kernels_on_no_device_are_said():
    with pytest.raises(MissingData, match="on which device"):
        rank_state(INFO, table("kernels", work(0, 10, device=None)))
