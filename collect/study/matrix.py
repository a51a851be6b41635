"""Which runs does a study hold? Lists of devices, batch sizes and modes, multiplied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MODES = ("train", "infer")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a study; everything else is the same for all of them."""

    mode: str
    device: str
    batch_size: int

    @property
    def name(self) -> str:
        """Name of the run's folder."""
        return f"{self.mode}-{self.device}-{self.batch_size}"

    @property
    def words(self) -> str:
        """What a person calls it."""
        return f"{self.mode} on {self.device} at batch {self.batch_size}"

    def trained_by(self) -> Cell:
        """The cell whose weights an inference of this device and batch size uses."""
        return Cell(mode="train", device=self.device, batch_size=self.batch_size)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Cell:
        """Read a cell back from a study file."""
        return cls(mode=str(fields["mode"]), device=str(fields["device"]), batch_size=int(fields["batch_size"]))


def matrix(devices: Sequence[str], batch_sizes: Sequence[int], modes: Sequence[str]) -> tuple[Cell, ...]:
    """Return the cells in the order in which they run: what is inferred with was trained just before."""
    ordered = [mode for mode in MODES if mode in modes]
    return tuple(
        Cell(mode=mode, device=device, batch_size=batch_size)
        for device in dict.fromkeys(devices)
        for batch_size in dict.fromkeys(batch_sizes)
        for mode in ordered
    )
