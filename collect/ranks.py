"""Which of how many processes is this, and on which place of its host?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: torchrun first, then SLURM, then Open MPI; the first complete family that is set wins
_FAMILIES = (
    ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
)


@dataclass(frozen=True, kw_only=True)
class Placement:
    """This process among the processes of one training job."""

    rank: int = 0
    local_rank: int = 0
    world_size: int = 1
    #: processes of the job on this host; None where the launcher does not say
    local_world_size: int | None = 1

    @property
    def is_alone(self) -> bool:
        """Whether the job has a single process."""
        return self.world_size == 1

    @property
    def spans_hosts(self) -> bool:
        """Whether ranks run on more than one host, as far as the launcher says."""
        return self.local_world_size is not None and self.local_world_size < self.world_size


def placement(environ: Mapping[str, str] | None = None) -> Placement:
    """Read rank, local rank and world size from the launcher's variables; one process where none are set."""
    environ = os.environ if environ is None else environ
    for rank_key, local_key, world_key, local_world_key in _FAMILIES:
        rank, world = _integer(environ.get(rank_key)), _integer(environ.get(world_key))
        if rank is None or world is None:
            continue
        local = _integer(environ.get(local_key))
        local_world = _integer(environ.get(local_world_key))
        return Placement(
            rank=rank,
            local_rank=rank if local is None else local,
            world_size=world,
            local_world_size=1 if world == 1 else local_world,
        )
    return Placement()


def _integer(text: str | None) -> int | None:
    """Whole numbers only: SLURM writes '4(x2)' where nodes are alike, which says nothing about this one."""
    return int(text) if text is not None and text.strip().isdigit() else None
