"""Five faults of training on the processor alone."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch._dynamo as dynamo
from torch import nn
from torch.nn import functional

from benchmarks.faults.fault import Fault, Loop


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _net(width: int = 512) -> nn.Module:
    return nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def _train(net: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> None:
    loss = functional.cross_entropy(net(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


class _Signals(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Signals that a transform turns into features."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        signal = torch.randn(8192, generator=torch.Generator().manual_seed(index))
        return torch.fft.rfft(signal).abs()[:256], index % 10


def _loader(workers: int) -> Any:
    more = {"persistent_workers": True, "prefetch_factor": 4} if workers else {}
    return torch.utils.data.DataLoader(_Signals(), batch_size=64, num_workers=workers, **more)  # type: ignore[arg-type]


def oversubscribed(fixed: bool) -> Loop:
    """Four times as many compute threads as cores, and workers beside them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(max(_cores() - 1, 1) if fixed else 4 * _cores())
    net = _net(1024)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    loader = _loader(1 if fixed else 2 * _cores())

    def step(batch: Any) -> None:
        _train(net, optimizer, batch[0].repeat(8, 1), batch[1].repeat(8))

    return Loop(step=step, loader=loader, close=lambda: torch.set_num_threads(threads))


def double_by_accident(fixed: bool) -> Loop:
    """Data from NumPy arrived as float64, and the model was cast to match."""
    kind = torch.float32 if fixed else torch.float64
    net = _net(1024).to(kind)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(512, 256, dtype=kind), torch.randint(0, 10, (512,))
    return Loop(step=lambda _: _train(net, optimizer, x, y))


def no_workers(fixed: bool) -> Loop:
    """Features computed in the training process."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    net = _net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    loader = _loader(max(min(_cores() - 1, 8), 1) if fixed else 0)
    return Loop(step=lambda b: _train(net, optimizer, b[0], b[1]), loader=loader, close=lambda: torch.set_num_threads(threads))


def python_loop(fixed: bool) -> Loop:
    """Rows normalised one by one."""
    net = _net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(256, 256), torch.randint(0, 10, (256,))

    def step(_: int) -> None:
        rows = (
            (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
            if fixed
            else torch.stack([(r - r.mean()) / r.std() for r in x])
        )
        _train(net, optimizer, rows, y)

    return Loop(step=step)


def compiles_every_step(fixed: bool) -> Loop:
    """A compiled model that gets a sequence of another length in every step; fixed: the length is marked as dynamic.

    Graphs are captured and run as they are: what costs here is the capture, whatever compiles the graphs afterwards.
    """
    torch.compiler.reset()
    # somebody met the limit and raised it instead of finding out what changes
    dynamo.config.recompile_limit = dynamo.config.accumulated_recompile_limit = 100_000
    net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256), nn.LayerNorm(256))
    model: Any = torch.compile(net, backend="aot_eager", dynamic=None if fixed else False)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)

    def step(i: int) -> None:
        x = torch.randn(16, 64 + i % 256, 256)
        if fixed:
            dynamo.mark_dynamic(x, 1)
        optimizer.zero_grad(set_to_none=True)
        functional.mse_loss(model(x), x).backward()
        optimizer.step()

    return Loop(step=step)


FAULTS = (
    Fault(name="cpu_oversubscribed", names=("cpu-oversubscription",), build=oversubscribed, batch_size=64),
    Fault(name="cpu_double", names=("double-precision",), build=double_by_accident, batch_size=512),
    Fault(name="cpu_no_workers", names=("input-pipeline-stall",), build=no_workers, batch_size=64),
    Fault(name="cpu_python_loop", names=("many-tiny-ops",), build=python_loop, batch_size=256),
    Fault(name="cpu_compiles_every_step", names=("recompilation",), build=compiles_every_step, batch_size=16, recorded_steps=24),
)
