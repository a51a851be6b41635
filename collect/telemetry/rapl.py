"""How much energy do the processors use? Intel's and AMD's energy counters, as the Linux kernel shows them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from collect.telemetry.probe import Sample

_POWERCAP = Path("/sys/class/powercap")
_UJ_PER_J = 1_000_000


def counted_uj(before_uj: int, after_uj: int, range_uj: int | None) -> int | None:
    """Return the energy between two readings of a counter that starts again at 0 after `range_uj`.

    None where it wrapped and its range is not known: that energy cannot be told.
    """
    if after_uj >= before_uj:
        return after_uj - before_uj
    return None if range_uj is None else range_uj - before_uj + after_uj


class RaplProbe:
    """All processor packages of the host together."""

    source = "rapl"

    def __init__(
        self,
        root: Path = _POWERCAP,
        interval_s: float = 1.0,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.interval_s = interval_s
        self.unsupported: dict[str, str] = {}
        self._root = root
        self._monotonic_s = monotonic_s
        self._packages: list[Path] = []
        self._range_uj: dict[Path, int | None] = {}
        self._before_uj: dict[Path, int] = {}
        self._read_at_s = 0.0
        self._total_uj = 0

    def open(self) -> bool:
        """Find the packages and take the first reading; without permission or counters there is nothing to sample."""
        # `intel-rapl:0` is a package; `intel-rapl:0:1` is a part of one, counted in it already
        found = sorted(path for path in self._root.glob("intel-rapl:*") if path.name.count(":") == 1)
        if not found:
            self.unsupported["cpu_energy"] = "this system shows no processor energy counter"
            return False
        try:
            self._before_uj = {path: _integer(path / "energy_uj") for path in found}
        except PermissionError:
            self.unsupported["cpu_energy"] = "only root may read the processor's energy counter on this system"
            return False
        except (OSError, ValueError) as error:
            self.unsupported["cpu_energy"] = f"the processor's energy counter cannot be read: {error}"
            return False
        self._packages = found
        self._range_uj = {path: _integer_or_none(path / "max_energy_range_uj") for path in found}
        self._read_at_s = self._monotonic_s()
        return True

    def devices(self) -> list[dict[str, Any]]:
        """Packages have no identity worth a line."""
        return []

    def sample(self) -> list[Sample]:
        """Return energy since the first reading and mean power since the last; None after a wrap of unknown size."""
        now_s = self._monotonic_s()
        elapsed_s, self._read_at_s = now_s - self._read_at_s, now_s
        deltas = [self._delta_uj(path) for path in self._packages]
        if any(delta is None for delta in deltas) or elapsed_s <= 0:
            return [{"energy_j": None, "power_w": None, "counter_wrapped": True}]
        spent_uj = sum(delta for delta in deltas if delta is not None)
        self._total_uj += spent_uj
        return [{"energy_j": self._total_uj / _UJ_PER_J, "power_w": spent_uj / _UJ_PER_J / elapsed_s}]

    def close(self) -> None:
        """Nothing is held."""

    def _delta_uj(self, path: Path) -> int | None:
        after = _integer_or_none(path / "energy_uj")
        if after is None:
            return None
        before, self._before_uj[path] = self._before_uj[path], after
        return counted_uj(before, after, self._range_uj[path])


def _integer(path: Path) -> int:
    return int(path.read_text(encoding="ascii"))


def _integer_or_none(path: Path) -> int | None:
    try:
        return _integer(path)
    except (OSError, ValueError):
        return None
