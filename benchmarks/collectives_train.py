"""Trains a network on several ranks over gloo; gradients are averaged one by one, in one piece, by DDP, or in every second step."""

from __future__ import annotations

import argparse
import os
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import distributed, nn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

STEPS = 110


def one_by_one(parameters: Iterable[nn.Parameter]) -> None:
    for parameter in parameters:
        distributed.all_reduce(parameter.grad)
        parameter.grad /= distributed.get_world_size()


def in_one_piece(parameters: Iterable[nn.Parameter]) -> None:
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    distributed.all_reduce(flat)
    flat /= distributed.get_world_size()
    for gradient, averaged in zip(gradients, flat.split([gradient.numel() for gradient in gradients]), strict=True):
        gradient.copy_(averaged.view_as(gradient))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--how", choices=["one-by-one", "in-one-piece", "ddp", "ddp-every-second"], required=True)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--batch", type=int, default=64)
    given = parser.parse_args()
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    layers = [layer for _ in range(given.layers) for layer in (nn.Linear(given.width, given.width), nn.ReLU())]
    net: nn.Module = nn.Sequential(*layers)
    average: Callable[[Any], None] | None = {"one-by-one": one_by_one, "in-one-piece": in_one_piece}.get(given.how)
    if average is None:
        net = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(given.batch, given.width)
    for step in range(STEPS):
        optimizer.zero_grad()
        kept = net.no_sync() if given.how == "ddp-every-second" and step % 2 else nullcontext()
        with kept:
            net(x).square().mean().backward()
        if average is not None:
            average(net.parameters())
        optimizer.step()
    distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    main()
