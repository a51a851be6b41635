from __future__ import annotations

import pytest

from collect.ranks import Placement, placement


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Placement()),
        (
            {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"},
            Placement(rank=3, local_rank=1, world_size=4, local_world_size=2),
        ),
        (
            {"SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_NTASKS": "8", "SLURM_NTASKS_PER_NODE": "4(x2)"},
            Placement(rank=5, local_rank=1, world_size=8, local_world_size=None),
        ),
        (
            {"RANK": "0", "WORLD_SIZE": "1", "SLURM_PROCID": "5", "SLURM_NTASKS": "8"},
            Placement(),
        ),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
            Placement(rank=1, local_rank=1, world_size=2, local_world_size=None),
        ),
        # half a family says nothing
        ({"RANK": "3"}, Placement()),
        ({"RANK": "", "WORLD_SIZE": "two"}, Placement()),
    ],
)
def test_placement_is_read_from_the_launcher(environ: dict[str, str], expected: Placement):
    assert placement(environ) == expected


def test_a_job_on_several_hosts_is_known_where_the_launcher_says_so():
    assert Placement(world_size=8, local_world_size=4).spans_hosts
    assert not Placement(world_size=4, local_world_size=4).spans_hosts
    assert not Placement(world_size=4, local_world_size=None).spans_hosts
