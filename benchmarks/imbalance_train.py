"""Trains a small network on several ranks over gloo; the last rank may have more work, or slower input."""

from __future__ import annotations

import argparse
import contextlib
import os
import time

import torch
from torch import distributed, nn
from torch.distributed.algorithms.join import Join

FEATURES = 16
LAYERS = 6
STEPS = 110


class Batches(torch.utils.data.Dataset[torch.Tensor]):
    """Whole batches, so that larger ones take no longer to load; each may take a while."""

    def __init__(self, batch: int, delay_s: float) -> None:
        self.batch, self.delay_s = batch, delay_s

    def __len__(self) -> int:
        return STEPS + 1

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.delay_s:
            time.sleep(self.delay_s)
        return torch.full((self.batch, FEATURES), 1.0 / (index + 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--last-batch", type=int, help="batch of the last rank")
    parser.add_argument("--last-delay-ms", type=float, default=0.0, help="what a batch takes longer to load on the last rank")
    parser.add_argument(
        "--only-first", action="store_true", help="only the first rank computes; the others take part in exchanges"
    )
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    last = distributed.get_rank() == distributed.get_world_size() - 1
    batch = given.last_batch if last and given.last_batch else given.batch
    loader = torch.utils.data.DataLoader(Batches(batch, given.last_delay_ms / 1e3 if last else 0.0), batch_size=None)
    device = torch.device(given.device)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(given.width, given.width), nn.ReLU())]
    layers.insert(0, nn.Linear(FEATURES, given.width))
    model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers).to(device), bucket_cap_mb=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = () if given.only_first and distributed.get_rank() else loader
    with Join([model]) if given.only_first else contextlib.nullcontext():
        for samples in batches:
            optimizer.zero_grad()
            model(samples.to(device)).square().mean().backward()
            optimizer.step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    # a launcher sets these; alone, this is a world of one
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    main()
