# ruff: noqa: N802 - a stand-in has the names of what it stands for
from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from collect.telemetry.nvml import NvmlProbe


class NotSupportedError(Exception):
    def __str__(self) -> str:
        return "Not Supported"


@dataclass
class FakeNvml:
    """Four cards with utilisation 10, 20, 30, 40 %; names in `broken` raise, for all cards or one."""

    broken: set[str] = field(default_factory=set)
    missing_library: bool = False
    count: int = 4
    #: what computes on a card: (process, memory) and, by process, its share of the time
    running: tuple[tuple[int, int | None], ...] = ()
    shares: dict[int, int] = field(default_factory=dict)
    NVML_ERROR_NOT_FOUND: int = 6
    NVML_CLOCK_SM: int = 1
    NVML_CLOCK_MEM: int = 2
    NVML_TEMPERATURE_GPU: int = 0
    NVML_PCIE_UTIL_TX_BYTES: int = 0
    NVML_PCIE_UTIL_RX_BYTES: int = 1

    def nvmlInit(self) -> None:
        if self.missing_library:
            raise NotSupportedError

    def nvmlShutdown(self) -> None:
        pass

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return f"card {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if not uuid.startswith("MIG-"):
            raise NotSupportedError
        return "card 0"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)
        answers: dict[str, Any] = {
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [
                SimpleNamespace(pid=pid, usedGpuMemory=held) for pid, held in self.running
            ],
            "nvmlDeviceGetProcessUtilization": lambda _: [
                SimpleNamespace(pid=pid, smUtil=share) for pid, share in self.shares.items()
            ],
            "nvmlDeviceGetUUID": lambda n: f"GPU-{n}",
            "nvmlDeviceGetName": lambda _: b"H200",
            "nvmlSystemGetDriverVersion": lambda _: "570.1",
            "nvmlDeviceGetEnforcedPowerLimit": lambda _: 700_000,
            "nvmlDeviceGetMaxClockInfo": lambda _: 1980,
            "nvmlDeviceGetUtilizationRates": lambda n: SimpleNamespace(gpu=10 * (n + 1), memory=n),
            "nvmlDeviceGetMemoryInfo": lambda n: SimpleNamespace(used=n << 30, total=141 << 30),
            "nvmlDeviceGetPowerUsage": lambda n: 123_456 + n,
            "nvmlDeviceGetTotalEnergyConsumption": lambda _: 5_000,
            "nvmlDeviceGetTemperature": lambda _: 41,
            "nvmlDeviceGetClockInfo": lambda _: 1500,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: 0x4 | 0x40,
            "nvmlDeviceGetPcieThroughput": lambda _: 2,
            "nvmlDeviceGetCurrPcieLinkGeneration": lambda _: 1,
            "nvmlDeviceGetMaxPcieLinkGeneration": lambda _: 5,
            "nvmlDeviceGetCurrPcieLinkWidth": lambda _: 8,
            "nvmlDeviceGetMaxPcieLinkWidth": lambda _: 16,
        }
        if name in self.broken or name not in answers:
            return self.refuse
        return lambda handle="card 0", *_: answers[name](int(handle.split()[-1]))

    def refuse(self, *_: object) -> None:
        raise NotSupportedError


def opened(nvml: FakeNvml, environ: dict[str, str] | None = None, **options: Any) -> NvmlProbe:
    probe = NvmlProbe(nvml=nvml, environ=environ or {}, **options)
    assert probe.open()
    return probe


def test_visible_cards_are_found_by_uuid_not_by_position():
    # card N01: of four cards the process sees the last two
    probe = opened(FakeNvml(), {"CUDA_VISIBLE_DEVICES": "2,3"})
    assert [(s["device_uuid"], s["utilisation_percent"]) for s in probe.sample()] == [("GPU-2", 30), ("GPU-3", 40)]
    assert [(d["uuid"], d["cuda_index"]) for d in probe.devices()] == [("GPU-2", 0), ("GPU-3", 1)]


def test_every_metric_has_its_unit_in_its_name():
    probe = opened(FakeNvml(count=1))
    assert probe.sample() == [
        {
            "device_uuid": "GPU-0",
            "utilisation_percent": 10,
            "memory_utilisation_percent": 0,
            "memory_used_bytes": 0,
            "memory_total_bytes": 141 << 30,
            "power_w": 123.456,
            "energy_j": 5.0,
            "temperature_c": 41,
            "sm_clock_mhz": 1500,
            "memory_clock_mhz": 1500,
            "throttle_reasons": ["power_cap", "hardware_thermal"],
            "pcie_rx_bytes_per_s": 2048,
            "pcie_tx_bytes_per_s": 2048,
            "pcie_link_generation": 1,
            "pcie_link_width": 8,
            "pcie_link_generation_max": 5,
            "pcie_link_width_max": 16,
        }
    ]
    assert probe.devices()[0]["power_limit_w"] == 700.0
    assert probe.unsupported == {}


def test_what_a_card_lacks_is_absent_and_said_while_the_rest_goes_on():
    # cards N03 (a MIG slice has no utilisation) and N04 (unified memory has no memory figure)
    probe = opened(FakeNvml(broken={"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo"}, count=1))
    (sample,) = probe.sample()
    assert "utilisation_percent" not in sample
    assert "memory_used_bytes" not in sample
    assert sample["power_w"] == 123.456
    assert probe.unsupported == {"utilisation (GPU-0)": "Not Supported", "memory (GPU-0)": "Not Supported"}


def test_a_reading_that_fails_in_the_middle_of_a_run_is_absent_from_that_sample_only():
    nvml = FakeNvml(count=1)
    probe = opened(nvml)
    nvml.broken.add("nvmlDeviceGetPowerUsage")
    assert "power_w" not in probe.sample()[0]
    nvml.broken.clear()
    assert probe.sample()[0]["power_w"] == 123.456


def test_pcie_traffic_is_asked_for_rarely():
    probe = opened(FakeNvml(count=1))
    assert ["pcie_rx_bytes_per_s" in probe.sample()[0] for _ in range(11)] == [True] + [False] * 9 + [True]


def test_a_card_without_a_pcie_link_has_no_generation_and_keeps_the_rest():
    probe = opened(FakeNvml(broken={"nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth"}, count=1))
    (sample,) = probe.sample()
    assert not [name for name in sample if name.startswith("pcie_link")]
    assert sample["pcie_rx_bytes_per_s"] == 2048
    assert set(probe.unsupported) == {"pcie_link (GPU-0)", "pcie_link_max (GPU-0)"}


def test_a_mig_slice_is_known_by_its_own_id():
    probe = opened(FakeNvml(), {"CUDA_VISIBLE_DEVICES": "MIG-5c6b"})
    assert [s["device_uuid"] for s in probe.sample()] == ["MIG-5c6b"]


def test_hidden_cards_are_sampled_for_other_ranks_and_have_no_index():
    probe = opened(FakeNvml(), {"CUDA_VISIBLE_DEVICES": "1"}, all_devices=True)
    assert [(d["uuid"], d["cuda_index"]) for d in probe.devices()] == [
        ("GPU-0", None),
        ("GPU-1", 0),
        ("GPU-2", None),
        ("GPU-3", None),
    ]


def test_without_a_driver_or_a_visible_card_there_is_a_reason_instead_of_samples():
    probe = NvmlProbe(nvml=FakeNvml(missing_library=True), environ={})
    assert not probe.open()
    assert probe.unsupported == {"gpu": "NVML is not available: Not Supported"}
    probe = NvmlProbe(nvml=FakeNvml(), environ={"CUDA_VISIBLE_DEVICES": ""})
    assert not probe.open()
    assert probe.unsupported == {"gpu": "no GPU is visible to this process"}
