"""Four faults that make the GPU itself work longer: odd sizes, plain units, scores in memory, chains of passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.faults.fault import Fault, Loop
from benchmarks.faults.networks import DEVICE, show, train

if TYPE_CHECKING:
    from collections.abc import Callable


def odd_sizes(fixed: bool) -> Loop:
    """A vocabulary and a width that are multiples of nothing; fixed: both padded to the next multiple of 64."""
    width, vocabulary = (1024, 50304) if fixed else (1019, 50257)
    net = nn.Sequential(nn.Linear(1024, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, vocabulary))
    net = net.to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(4096, 1024, device=DEVICE), torch.randint(0, 50_000, (4096,), device=DEVICE)
    return Loop(step=lambda _: show(train(net, optimizer, x, y, half=True)))


def few_channels(fixed: bool) -> Loop:
    """Half-precision convolutions in groups of three channels; fixed: padded to groups of sixteen."""
    groups, each = 32, 16 if fixed else 3
    layers = [nn.Conv2d(groups * each, groups * each, 3, padding=1, groups=groups) for _ in range(4)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(groups * each, 100)).to(DEVICE)
    net = net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x = torch.rand(64, groups * each, 96, 96, device=DEVICE).to(memory_format=torch.channels_last)
    y = torch.randint(0, 100, (64,), device=DEVICE)
    return Loop(step=lambda _: show(train(net, optimizer, x, y, half=True)))


class _Attention(nn.Module):
    """Self-attention spelled out, or in one call."""

    def __init__(self, width: int, heads: int, *, fused: bool) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.project, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.project(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        if self.fused:
            y = functional.scaled_dot_product_attention(q, k, v)
        else:
            y = torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1) @ v
        return x + self.merge(y.transpose(1, 2).reshape(batch, length, width))


def spelled_out_attention(fixed: bool) -> Loop:
    """Attention as product, softmax, product."""
    net = nn.Sequential(*[_Attention(1024, 16, fused=fixed) for _ in range(4)], nn.Linear(1024, 100)).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(8, 1024, 1024, device=DEVICE), torch.randint(0, 100, (8, 1024), device=DEVICE)
    return Loop(step=lambda _: show(train(net, optimizer, x, y, half=True)))


class _Gated(nn.Module):
    """A gate and a norm written with plain operators."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))
        y = x + gate * torch.sigmoid(x) * self.weight + self.bias
        return y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-6)


def chains_of_passes(fixed: bool) -> Loop:
    """Gates and norms written with plain operators over large tensors; fixed: compiled."""
    net: nn.Module = nn.Sequential(*[_Gated(1024) for _ in range(3)], nn.Linear(1024, 100)).to(DEVICE)
    run: Any = torch.compile(net) if fixed else net
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(32768, 1024, device=DEVICE), torch.randint(0, 100, (32768,), device=DEVICE)
    return Loop(step=lambda _: show(train(run, optimizer, x, y)))


def _fault(name: str, finding: str, build: Callable[[bool], Loop], batch_size: int) -> Fault:
    return Fault(name=name, names=(finding,), build=build, batch_size=batch_size)


FAULTS = (
    _fault("odd_sizes", "inefficient-gemm", odd_sizes, 4096),
    _fault("few_channels", "tensor-cores-unused", few_channels, 64),
    _fault("spelled_out_attention", "unfused-attention", spelled_out_attention, 8),
    _fault("chains_of_passes", "unfused-elementwise", chains_of_passes, 32768),
)
