"""What do the NVIDIA GPUs do? Utilisation, memory, power, energy, temperature, clocks, throttling through NVML.

Each metric is asked for by itself: a MIG slice has no utilisation and a card with unified memory no memory figure, and
the others go on. `power_w` is what the driver reports; on most cards since Ampere that is a mean over a second, which
the header says. Energy between two samples is better taken from `energy_j`, a counter since the driver was loaded.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from collect.telemetry.card_processes import CardProcesses
from collect.telemetry.visible_devices import Card, visible_uuids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from collect.telemetry.probe import Sample

_INTERVAL_S = 0.2
#: asking for PCIe traffic makes the driver count for 20 ms, per direction; the link's own state and processes change rarely
_EVERY_SAMPLES = {"pcie": 10, "pcie_link": 10, "pcie_link_max": 10, "processes": 2}
_KIB = 1024
_MILLI = 1000
_THROTTLE_REASONS = {
    0x1: "idle",
    0x2: "application_clocks",
    0x4: "power_cap",
    0x8: "hardware_slowdown",
    0x10: "sync_boost",
    0x20: "software_thermal",
    0x40: "hardware_thermal",
    0x80: "hardware_power_brake",
    0x100: "display_clocks",
}


class NvmlProbe:
    """The cards that the training process can see, or all of the host's."""

    source = "nvml"

    def __init__(
        self,
        *,
        all_devices: bool = False,
        pid: int | None = None,
        interval_s: float = _INTERVAL_S,
        nvml: Any = None,  # noqa: ANN401 - the module, or a stand-in for it
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.interval_s = interval_s
        self.unsupported: dict[str, str] = {}
        self._nvml = nvml
        self._environ = os.environ if environ is None else environ
        self._all_devices = all_devices
        self._pid = pid
        self._handles: dict[str, Any] = {}
        self._devices: list[dict[str, Any]] = []
        self._metrics: dict[str, dict[str, Callable[[Any], Sample]]] = {}
        self._samples = 0

    def open(self) -> bool:
        """Start NVML, choose the cards, and learn which metrics each of them has."""
        try:
            self._start()
        except Exception as error:  # noqa: BLE001 - no driver, no library, no permission: GPU telemetry is off, with the reason
            self.unsupported["gpu"] = f"NVML is not available: {error}"
            return False
        self._choose()
        for uuid, handle in self._handles.items():
            self._metrics[uuid] = self._supported_metrics(uuid, handle)
        if not self._handles:
            self.unsupported.setdefault("gpu", "no GPU is visible to this process")
        return bool(self._handles)

    def devices(self) -> list[dict[str, Any]]:
        """Describe the sampled cards; `cuda_index` is None where it is hidden or cannot be told."""
        return self._devices

    def sample(self) -> list[Sample]:
        """Read every supported metric of every card."""
        taken = self._samples
        self._samples += 1
        samples = []
        for uuid, handle in self._handles.items():
            line: Sample = {"device_uuid": uuid}
            for name, read in self._metrics[uuid].items():
                if taken % _EVERY_SAMPLES.get(name, 1):
                    continue
                line.update(self._read(read, handle) or {})
            samples.append(line)
        return samples

    def close(self) -> None:
        """Let NVML go."""
        self._read(lambda _: self._nvml.nvmlShutdown(), None)

    def _start(self) -> None:
        if self._nvml is None:
            import pynvml

            self._nvml = pynvml
        self._nvml.nvmlInit()

    def _choose(self) -> None:
        nvml = self._nvml
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        cards = [
            Card(
                nvml_index=index,
                uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
                name=_text(nvml.nvmlDeviceGetName(handle)),
            )
            for index, handle in enumerate(handles)
        ]
        by_uuid = dict(zip((card.uuid for card in cards), handles, strict=True))
        visible = visible_uuids(cards, self._environ)
        if visible.reason is not None:
            self.unsupported["cuda_index"] = visible.reason
        chosen = list(by_uuid) if self._all_devices or visible.uuids is None else list(visible.uuids)
        for uuid in chosen:
            handle = by_uuid.get(uuid) or self._read(nvml.nvmlDeviceGetHandleByUUID, uuid)
            if handle is None:
                self.unsupported[uuid] = "NVML does not know this device"
                continue
            self._handles[uuid] = handle
            index = visible.uuids.index(uuid) if visible.uuids is not None and uuid in visible.uuids else None
            self._devices.append(self._describe(uuid, handle, index))

    def _describe(self, uuid: str, handle: Any, cuda_index: int | None) -> dict[str, Any]:  # noqa: ANN401
        nvml = self._nvml
        limit_mw = self._read(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
        driver = self._read(lambda _: nvml.nvmlSystemGetDriverVersion(), handle)
        return {
            "uuid": uuid,
            "name": _text(self._read(nvml.nvmlDeviceGetName, handle)),
            "cuda_index": cuda_index,
            "driver": _text(driver),
            "power_limit_w": None if limit_mw is None else limit_mw / _MILLI,
            "sm_clock_max_mhz": self._read(lambda h: nvml.nvmlDeviceGetMaxClockInfo(h, nvml.NVML_CLOCK_SM), handle),
            "power_is": "as the driver reports it: a mean over about a second on most cards since Ampere",
        }

    def _supported_metrics(self, uuid: str, handle: Any) -> dict[str, Callable[[Any], Sample]]:  # noqa: ANN401
        supported = {}
        for name, read in self._readers().items():
            try:
                read(handle)
            except Exception as error:  # noqa: BLE001 - also raised by symbols that an old driver lacks
                self.unsupported[f"{name} ({uuid})"] = str(error) or type(error).__name__
                continue
            supported[name] = read
        return supported

    def _readers(self) -> dict[str, Callable[[Any], Sample]]:
        nvml = self._nvml

        def utilisation(handle: Any) -> Sample:  # noqa: ANN401
            rates = nvml.nvmlDeviceGetUtilizationRates(handle)
            return {"utilisation_percent": rates.gpu, "memory_utilisation_percent": rates.memory}

        def memory(handle: Any) -> Sample:  # noqa: ANN401
            info = nvml.nvmlDeviceGetMemoryInfo(handle)
            return {"memory_used_bytes": info.used, "memory_total_bytes": info.total}

        def throttling(handle: Any) -> Sample:  # noqa: ANN401
            # renamed in later drivers; the older name is still there
            bits = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
            return {"throttle_reasons": [word for bit, word in _THROTTLE_REASONS.items() if bits & bit]}

        def pcie(handle: Any) -> Sample:  # noqa: ANN401
            receive = nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_RX_BYTES)
            send = nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_TX_BYTES)
            return {"pcie_rx_bytes_per_s": receive * _KIB, "pcie_tx_bytes_per_s": send * _KIB}

        def pcie_link(handle: Any) -> Sample:  # noqa: ANN401
            # an idle card lets its link down to save power, so the present state is sampled too
            return {
                "pcie_link_generation": nvml.nvmlDeviceGetCurrPcieLinkGeneration(handle),
                "pcie_link_width": nvml.nvmlDeviceGetCurrPcieLinkWidth(handle),
            }

        def pcie_link_max(handle: Any) -> Sample:  # noqa: ANN401
            return {
                "pcie_link_generation_max": nvml.nvmlDeviceGetMaxPcieLinkGeneration(handle),
                "pcie_link_width_max": nvml.nvmlDeviceGetMaxPcieLinkWidth(handle),
            }

        processes = {} if self._pid is None else {"processes": CardProcesses(nvml, self._pid, self._environ).read}
        return {
            **processes,
            "utilisation": utilisation,
            "memory": memory,
            "power_w": lambda h: {"power_w": nvml.nvmlDeviceGetPowerUsage(h) / _MILLI},
            "energy_j": lambda h: {"energy_j": nvml.nvmlDeviceGetTotalEnergyConsumption(h) / _MILLI},
            "temperature_c": lambda h: {"temperature_c": nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU)},
            "sm_clock_mhz": lambda h: {"sm_clock_mhz": nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_SM)},
            "memory_clock_mhz": lambda h: {"memory_clock_mhz": nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_MEM)},
            "throttle_reasons": throttling,
            "pcie": pcie,
            "pcie_link": pcie_link,
            "pcie_link_max": pcie_link_max,
        }

    @staticmethod
    def _read(read: Callable[[Any], Any], argument: Any) -> Any:  # noqa: ANN401
        """Return a reading, or None where it fails now: a card can be lost, or reset, in the middle of a run."""
        try:
            return read(argument)
        except Exception:  # noqa: BLE001
            return None


def _text(value: Any) -> str:  # noqa: ANN401
    return value.decode() if isinstance(value, bytes) else str(value)
