"""What is this computer: host, limits, packages, devices? Facts for the manifest; unknown is None."""

from __future__ import annotations

import os
import platform
import socket
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = ("torch", "torchvision", "numpy", "triton", "lightning", "transformers", "accelerate", "deepspeed")
_CGROUP = Path("/sys/fs/cgroup")
#: control groups without a limit hold a huge number instead
_NO_LIMIT_BYTES = 1 << 60


def host_name() -> str:
    """Return the host's own name."""
    return socket.gethostname()


def describe_host() -> dict[str, Any]:
    """Return name, system, CPU, cores and memory; where a container limits them, the limits too."""
    import psutil

    return {
        "name": host_name(),
        "os": platform.platform(),
        "cpu_model": _cpu_model(),
        "cores": os.cpu_count(),
        "cores_usable": usable_cores(),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_limit_bytes": memory_limit_bytes(),
    }


def usable_cores() -> int:
    """Cores that this process may use: affinity, then the container's quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cpu_quota(_CGROUP)
    return affinity if quota is None else max(1, min(affinity, round(quota)))


def memory_limit_bytes(cgroup: Path = _CGROUP) -> int | None:
    """Return the container's memory limit; None without one."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        text = _read(cgroup / name)
        if text is not None and text.isdigit() and int(text) < _NO_LIMIT_BYTES:
            return int(text)
    return None


def _cpu_quota(cgroup: Path) -> float | None:
    text = _read(cgroup / "cpu.max")
    if text is not None:
        quota, _, period = text.partition(" ")
        return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None
    quota, period = (_read(cgroup / f"cpu/cpu.cfs_{part}_us") or "" for part in ("quota", "period"))
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (_read(Path("/proc/cpuinfo")) or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model"):
            return value.strip()
    return platform.processor() or None


def package_versions() -> dict[str, str]:
    """Return the versions of the packages that shape a training run, as installed; none is imported for it."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def stepscope_version() -> str | None:
    """Return our own version; None when run from a source tree that is not installed."""
    try:
        return metadata.version("stepscope")
    except metadata.PackageNotFoundError:
        return None


def cuda_in_use() -> bool:
    """Whether this process has started CUDA; never imports torch and never starts CUDA itself."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "cuda") and bool(torch.cuda.is_initialized())


def describe_devices() -> list[dict[str, Any]]:
    """Return the CUDA devices that this process uses; empty until CUDA is in use."""
    if not cuda_in_use():
        return []
    import torch

    driver = _driver_version()
    return [_describe_device(torch.cuda.get_device_properties(i), i, driver) for i in range(torch.cuda.device_count())]


def _describe_device(properties: Any, index: int, driver: str | None) -> dict[str, Any]:  # noqa: ANN401
    uuid = getattr(properties, "uuid", None)
    return {
        "index": index,
        "uuid": None if uuid is None else f"GPU-{uuid}",
        "name": properties.name,
        "memory_bytes": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "driver": driver,
    }


def _driver_version() -> str | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # noqa: BLE001 - no NVML, no version; telemetry gives the reason
        return None
    return version.decode() if isinstance(version, bytes) else str(version)
