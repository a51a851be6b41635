"""Networks on the GPU that the planted faults share, and the training step."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda"


def train(
    net: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor, *, half: bool = False
) -> torch.Tensor:
    """Run one step: forward, loss, backward, update; return the loss."""
    with torch.autocast("cuda", torch.bfloat16, enabled=half):
        loss = functional.cross_entropy(net(x).flatten(0, -2), y.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss


def conv_net(width: int = 64, classes: int = 100) -> nn.Module:
    """Build six convolutions with batch norm, the width doubled every second one."""
    layers: list[nn.Module] = []
    channels = 3
    for depth in range(6):
        out = width * 2 ** (depth // 2)
        layers += [nn.Conv2d(channels, out, 3, stride=2 if depth % 2 else 1, padding=1), nn.BatchNorm2d(out), nn.ReLU()]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)).to(DEVICE)


def encoder(width: int, layers: int, vocabulary: int = 4000, heads: int = 8) -> nn.Module:
    """Build a transformer encoder between an embedding and a projection to the vocabulary."""
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
    return nn.Sequential(
        nn.Embedding(vocabulary, width),
        nn.TransformerEncoder(layer, layers, enable_nested_tensor=False),
        nn.Linear(width, vocabulary),
    ).to(DEVICE)


def tokens(batch: int, length: int, vocabulary: int = 4000) -> torch.Tensor:
    """Draw a batch of token numbers."""
    return torch.randint(0, vocabulary, (batch, length), device=DEVICE)


def show(loss: torch.Tensor) -> None:
    """Read the loss, as most loops do to show it: the host waits for the device."""
    loss.item()
