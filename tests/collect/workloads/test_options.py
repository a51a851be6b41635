from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from collect.ranks import Placement  # noqa: E402 - after the check for torch
from collect.workloads import image_data  # noqa: E402
from collect.workloads import options as workload  # noqa: E402


def decided(cores: int, **options: object) -> tuple[workload.Options, list[str]]:
    return workload.decide(workload.Options(**{"device": "cpu", **options}), cores)


@pytest.mark.parametrize(
    ("cores", "size", "batch", "workers"), [(2, 64, 16, 1), (4, 64, 16, 1), (8, 128, 32, 7), (64, 224, 32, 16)]
)
def test_sizes_follow_the_machine(cores: int, size: int, batch: int, workers: int):
    options, notes = decided(cores)
    assert (options.image_size, options.batch_size, options.workers) == (size, batch, workers)
    assert bool(notes) == (cores <= 16)


def test_what_the_user_chose_stays():
    options, notes = decided(2, image_size=224, batch_size=128, workers=0)
    assert (options.image_size, options.batch_size, options.workers) == (224, 128, 0)
    assert notes == []


def test_half_precision_on_a_cpu_is_refused():
    with pytest.raises(workload.UnusableOptionsError, match="bf16"):
        decided(2, precision="fp16")


def test_ranks_share_every_epoch_and_never_run_out():
    shares = [
        image_data.EndlessSampler(list(range(10)), Placement(rank=rank, local_rank=rank, world_size=2)) for rank in range(2)
    ]
    taken = []
    for share in shares:
        numbers = iter(share)
        taken.append([next(numbers) for _ in range(10)])
    first_epoch = taken[0][:5] + taken[1][:5]
    second_epoch = taken[0][5:] + taken[1][5:]
    assert sorted(first_epoch) == sorted(second_epoch) == list(range(10))
    assert first_epoch != second_epoch
