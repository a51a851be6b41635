"""Four faults that keep a GPU waiting: for copies, for the garbage collector, for work of the host, for the optimizer."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.faults.fault import Fault, Loop
from benchmarks.faults.networks import DEVICE, conv_net, show, train


def exposed_copy(fixed: bool) -> Loop:
    """Batches from pinned memory, copied on the stream that trains; fixed: one step ahead on a stream of their own."""
    net = conv_net(width=32)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    images = [torch.rand(256, 3, 224, 224).pin_memory() for _ in range(3)]
    y = torch.randint(0, 100, (256,), device=DEVICE)
    side = torch.cuda.Stream()
    ahead: list[torch.Tensor] = []

    def fetch(i: int) -> torch.Tensor:
        with torch.cuda.stream(side):
            return images[i % 3].to(DEVICE, non_blocking=True)

    def step(i: int) -> None:
        if not fixed:
            train(net, optimizer, images[i % 3].to(DEVICE, non_blocking=True), y, half=True)
            return
        x = ahead.pop() if ahead else fetch(i)
        torch.cuda.current_stream().wait_stream(side)
        x.record_stream(torch.cuda.current_stream())
        ahead.append(fetch(i + 1))
        train(net, optimizer, x, y, half=True)

    return Loop(step=step)


def collects_every_step(fixed: bool) -> Loop:
    """gc.collect() in every step, beside an index of samples held as Python objects."""
    net = conv_net(width=32)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.rand(64, 3, 128, 128, device=DEVICE), torch.randint(0, 100, (64,), device=DEVICE)
    index = [{"path": f"images/{i}.jpg", "boxes": [[i, i + 1]], "labels": [i % 80]} for i in range(20_000)]

    def step(i: int) -> None:
        sample = index[i % len(index)]
        sample["seen"] = [i]
        train(net, optimizer, x, y, half=True)
        if not fixed:
            gc.collect()

    return Loop(step=step)


def metrics_every_step(fixed: bool) -> Loop:
    """A ranking metric over the last hundred thousand scores, in NumPy, in every step; fixed: in every hundredth."""
    net = conv_net(width=32, classes=2)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.rand(64, 3, 128, 128, device=DEVICE), torch.randint(0, 2, (64,), device=DEVICE)
    random = np.random.default_rng(0)
    scores, positive = random.random(100_000), random.random(100_000) < 0.5
    history: list[float] = []

    def area_under_curve() -> float:
        order = np.argsort(scores)
        ranks = np.empty(scores.size)
        ranks[order] = np.arange(1, scores.size + 1)
        hits = int(positive.sum())
        return float((ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * (scores.size - hits)))

    def step(i: int) -> None:
        scores[i % scores.size] = train(net, optimizer, x, y, half=True).item()
        if not fixed or i % 100 == 0:
            history.append(area_under_curve())

    return Loop(step=step)


def loops_over_parameters(fixed: bool) -> Loop:
    """Adam, one parameter after another."""
    net = nn.Sequential(*[nn.Linear(512, 512) for _ in range(20)], nn.Linear(512, 100)).to(DEVICE)
    how: dict[str, Any] = {"fused": True} if fixed else {"foreach": False}
    optimizer = torch.optim.Adam(net.parameters(), 1e-4, **how)
    x, y = torch.randn(4096, 512, device=DEVICE), torch.randint(0, 100, (4096,), device=DEVICE)
    return Loop(step=lambda _: show(train(net, optimizer, x, y, half=True)))


FAULTS = (
    Fault(name="exposed_copy", names=("exposed-copy",), build=exposed_copy, batch_size=256),
    Fault(name="collects_every_step", names=("gc-pause",), build=collects_every_step, batch_size=64),
    Fault(name="metrics_every_step", names=("host-work-in-step",), build=metrics_every_step, batch_size=64),
    Fault(name="loops_over_parameters", names=("unfused-optimizer",), build=loops_over_parameters, batch_size=4096),
)
