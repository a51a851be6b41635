"""How many workers would load beside the training, and how often a batch would then come?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

#: workers assumed where the machine is not known; most training hosts have more cores
USUAL_WORKERS = 8
#: worker processes beside each other load this much as fast as one alone: they share memory, caches and the way to the loop
WORKER_EFFICIENCY = 0.75
#: where workers run already, the fix is twice as many where the machine has the cores, and half the work per sample where not
BUSY_WORKERS_FACTOR = 2


def fitting_workers(manifest: Mapping[str, Any]) -> tuple[int, int]:
    """A cautious and a usual number of workers that the machine has cores for."""
    cores = _cores(manifest)
    usual = min(USUAL_WORKERS, max(cores - 1, 1)) if cores else USUAL_WORKERS
    return max(usual // 2, 1), usual


def added_workers(manifest: Mapping[str, Any]) -> int | None:
    """Workers that can join those that run; None where workers or cores are not known."""
    cores, running = _cores(manifest), manifest.get("workers")
    if not cores or not running:
        return None
    return max(min((BUSY_WORKERS_FACTOR - 1) * int(running), cores - 1 - int(running)), 0)


def faster_intervals(interval_ns: float, manifest: Mapping[str, Any]) -> tuple[float, float]:
    """How often a batch would come, cautious and usual, from twice as many workers or as many more as there are cores for."""
    running, added = manifest.get("workers"), added_workers(manifest)
    if added == 0:
        return interval_ns, interval_ns / BUSY_WORKERS_FACTOR
    more = (BUSY_WORKERS_FACTOR - 1 if not running or added is None else added / running) * WORKER_EFFICIENCY
    return interval_ns / (1 + more / 2), interval_ns / (1 + more)


def _cores(manifest: Mapping[str, Any]) -> int | None:
    host = manifest.get("host") or {}
    cores = host.get("cores_usable") or host.get("cores")
    return int(cores) if cores else None
