"""Twelve faults on a GPU, in models other than those the replay was developed on."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.faults.fault import Fault, Loop
from benchmarks.faults.networks import DEVICE, conv_net, encoder, tokens, train


def pageable(fixed: bool) -> Loop:
    """Video clips from ordinary memory."""
    net = nn.Sequential(nn.Conv3d(3, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv3d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 50)).to(DEVICE)  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    clips = [torch.randn(24, 3, 16, 160, 160) for _ in range(3)]
    labels = [torch.randint(0, 50, (24,)) for _ in range(3)]
    if fixed:
        clips, labels = [c.pin_memory() for c in clips], [y.pin_memory() for y in labels]

    def step(i: int) -> None:
        x, y = (source[i % 3].to(DEVICE, non_blocking=fixed) for source in (clips, labels))
        train(net, optimizer, x, y)

    return Loop(step=step)


class _Augmented(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Images whose augmentation takes a few milliseconds each."""

    def __init__(self) -> None:
        self.image = torch.rand(3, 320, 320)

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = functional.interpolate(self.image[None], size=192, mode="bicubic", antialias=True)[0]
        blurred = functional.avg_pool2d(image[None], 5, 1, 2)[0]
        return (image + 0.5 * (image - blurred)).clamp(0, 1), index % 100


def no_workers(fixed: bool) -> Loop:
    """Augmentation in the training process."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    net = conv_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    workers = {"num_workers": 8, "persistent_workers": True, "prefetch_factor": 4} if fixed else {"num_workers": 0}
    loader = torch.utils.data.DataLoader(_Augmented(), batch_size=48, pin_memory=True, **workers)  # type: ignore[arg-type]

    def step(batch: Any) -> None:
        train(net, optimizer, batch[0].to(DEVICE, non_blocking=True), batch[1].to(DEVICE, non_blocking=True))

    return Loop(step=step, loader=loader, close=lambda: torch.set_num_threads(threads))


def reads_values(fixed: bool) -> Loop:
    """Statistics of every layer read back in each step."""
    net = encoder(512, 8)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)
    x = tokens(16, 256)
    seen = torch.zeros((), device=DEVICE)

    def step(_: int) -> None:
        nonlocal seen
        loss = train(net, optimizer, x, x, half=True)
        if fixed:
            seen += torch.stack([p.detach().abs().amax() for p in net.parameters()]).amax() + loss.detach()
        else:
            float(loss), [p.detach().abs().amax().item() for p in net.parameters()]

    return Loop(step=step)


def tiny_kernels(fixed: bool) -> Loop:
    """A deep, narrow network on a small batch."""
    net = nn.Sequential(
        *[nn.Sequential(nn.Linear(128, 128), nn.LayerNorm(128), nn.SiLU()) for _ in range(40)], nn.Linear(128, 10)
    ).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), 1e-4, fused=True, capturable=True)
    x, y = torch.randn(64, 128, device=DEVICE), torch.randint(0, 10, (64,), device=DEVICE)
    if not fixed:
        return Loop(step=lambda _: train(net, optimizer, x, y) and None)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            train(net, optimizer, x, y)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return Loop(step=lambda _: graph.replay())


def full_precision(fixed: bool) -> Loop:
    """Wide multilayer perceptron in float32."""
    net = nn.Sequential(nn.Linear(4096, 8192), nn.GELU(), nn.Linear(8192, 8192), nn.GELU(), nn.Linear(8192, 1000)).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(4096, 4096, device=DEVICE), torch.randint(0, 1000, (4096,), device=DEVICE)
    return Loop(step=lambda _: train(net, optimizer, x, y, half=fixed) and None)


def looped_optimizer(fixed: bool) -> Loop:
    """Adam over the parameters of a deep network, one by one."""
    net = encoder(384, 18)
    optimizer = torch.optim.Adam(net.parameters(), 1e-4, **({"fused": True} if fixed else {"foreach": False}))  # type: ignore[arg-type]
    x = tokens(8, 192)
    return Loop(step=lambda _: train(net, optimizer, x, x, half=True) and None)


def copies_one_by_one(fixed: bool) -> Loop:
    """A hundred and sixty features, each its own tensor."""
    net = nn.Sequential(nn.Linear(160 * 32, 512), nn.ReLU(), nn.Linear(512, 50)).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    features = [torch.randn(1024, 32) for _ in range(160)]
    packed, y = torch.cat(features, 1).pin_memory(), torch.randint(0, 50, (1024,), device=DEVICE)

    def step(_: int) -> None:
        x = packed.to(DEVICE, non_blocking=True) if fixed else torch.cat([f.to(DEVICE) for f in features], 1)
        train(net, optimizer, x, y)

    return Loop(step=step)


def empties_cache(fixed: bool) -> Loop:
    """empty_cache() after every step."""
    net = encoder(768, 6)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x = tokens(16, 256)

    def step(_: int) -> None:
        train(net, optimizer, x, x, half=True)
        if not fixed:
            torch.cuda.empty_cache()

    return Loop(step=step)


def channels_first(fixed: bool) -> Loop:
    """Half-precision convolutions on NCHW tensors."""
    net = conv_net(width=128)
    x, y = torch.randn(128, 3, 160, 160, device=DEVICE), torch.randint(0, 100, (128,), device=DEVICE)
    if fixed:
        net, x = net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    return Loop(step=lambda _: train(net, optimizer, x, y, half=True) and None)


def loop_over_samples(fixed: bool) -> Loop:
    """Flips and brightness applied image by image on the GPU."""
    net = conv_net(width=32)
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)
    x, y = torch.rand(96, 3, 128, 128, device=DEVICE), torch.randint(0, 100, (96,), device=DEVICE)
    gain = torch.rand(96, device=DEVICE) + 0.5

    def step(_: int) -> None:
        if fixed:
            z = (x.flip(-1) * gain[:, None, None, None]).clamp(0, 1)
        else:
            z = torch.stack([(x[i].flip(-1) * gain[i]).clamp(0, 1) for i in range(96)])
        train(net, optimizer, z, y)

    return Loop(step=step)


def outputs_to_host(fixed: bool) -> Loop:
    """Per-pixel scores copied to the host to count classes there."""
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 32, 3, padding=1)).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x = torch.rand(16, 3, 224, 224, device=DEVICE)
    y = torch.randint(0, 32, (16, 224, 224), device=DEVICE)
    counts: list[torch.Tensor] = []

    def step(_: int) -> None:
        scores = net(x)
        loss = functional.cross_entropy(scores, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        scores = scores.detach() if fixed else scores.detach().cpu()
        counts[:] = [scores.argmax(1).flatten().bincount(minlength=32)]

    return Loop(step=step)


def saves_every_step(fixed: bool) -> Loop:
    """The state dictionary written after each step."""
    net = encoder(384, 8)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x = tokens(8, 192)
    folder = tempfile.TemporaryDirectory()

    def step(_: int) -> None:
        train(net, optimizer, x, x, half=True)
        if not fixed:
            torch.save(net.state_dict(), Path(folder.name) / "state.pt")

    return Loop(step=step, close=folder.cleanup)


FAULTS = (
    Fault(name="pageable", names=("pageable-copy",), build=pageable, batch_size=24),
    Fault(name="no_workers", names=("input-pipeline-stall",), build=no_workers, batch_size=48),
    Fault(name="reads_values", names=("sync-in-step",), build=reads_values, batch_size=16),
    Fault(name="tiny_kernels", names=("launch-bound",), build=tiny_kernels, batch_size=64),
    Fault(name="full_precision", names=("full-precision-matmul",), build=full_precision, batch_size=4096),
    Fault(name="looped_optimizer", names=("unfused-optimizer",), build=looped_optimizer, batch_size=8),
    Fault(name="copies_one_by_one", names=("many-small-copies",), build=copies_one_by_one, batch_size=1024),
    Fault(name="empties_cache", names=("allocator-churn",), build=empties_cache, batch_size=16),
    Fault(name="channels_first", names=("layout-conversion",), build=channels_first, batch_size=128),
    Fault(name="loop_over_samples", names=("many-tiny-ops", "launch-bound"), build=loop_over_samples, batch_size=96),
    Fault(name="outputs_to_host", names=("device-to-host-copy",), build=outputs_to_host, batch_size=16),
    Fault(name="saves_every_step", names=("checkpoint-in-step",), build=saves_every_step, batch_size=8),
)
