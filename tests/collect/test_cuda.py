"""What only a GPU can show: the step clock on the device's own time line, and device work in the traces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from collect import Recorder
from collect.progress import Silence

if TYPE_CHECKING:
    from tests.collect.conftest import Run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")

SIZE = 4096


def heavy_step() -> Any:
    """Queue work that takes the device far longer than the host needs to queue it."""
    left = torch.randn(SIZE, SIZE, device="cuda")

    def step() -> Any:
        product = left
        for _ in range(8):
            product = product @ left / SIZE
        return product.mean()

    return step


def test_steps_last_as_long_as_the_device_needs_and_add_up(recorded: Run):
    step = heavy_step()
    step()
    torch.cuda.synchronize()
    with Recorder(recorded.out, profile=False, telemetry=False, progress=Silence()) as recorder:
        started_ns = time.perf_counter_ns()
        for _ in range(40):
            recorder.step(loss=step(), samples=1)
        torch.cuda.synchronize()
        wall_ns = time.perf_counter_ns() - started_ns
    steps = recorded.steps()
    assert len(steps) == 40
    assert abs(sum(s["dur_ns"] for s in steps) - wall_ns) < 0.03 * wall_ns
    middle = sorted(s["dur_ns"] for s in steps)[20]
    assert abs(middle - wall_ns / 40) < 0.1 * wall_ns / 40
    assert sorted(s["host_dur_ns"] for s in steps)[5] < middle / 5
    assert any(s["loss"] is not None for s in steps)


def test_windows_hold_kernels_and_the_manifest_the_card(recorded: Run):
    model = torch.nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(recorded.out, steps=40, progress=Silence()) as recorder:
        for batch in recorder.watch([torch.randn(64, 256) for _ in range(40)]):
            loss = model(batch.cuda()).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.step(loss=loss)
    manifest = recorded.manifest()
    assert manifest["device"] == "cuda"
    assert manifest["devices"][0]["uuid"].startswith("GPU-")
    assert manifest["peak_memory_allocated_bytes"] > 0
    for window, steps in (("times", 5), ("explanations", 2)):
        events = recorded.trace(window)
        assert sum(e.get("cat") == "kernel" for e in events) >= 5 * steps
        copies = [e for e in events if e.get("cat") == "gpu_memcpy"]
        batches = [e for e in copies if "HtoD" in e["name"] and e["args"]["bytes"] == 64 * 256 * 4]
        assert len(batches) == steps
        # what else leaves or reaches the device is the recorder's: one loss a step, into pinned memory, without waiting for it
        others = [e for e in copies if "DtoD" not in e["name"] and e not in batches]
        assert len(others) <= steps + 1
        assert all("-> Pinned" in e["name"] and e["args"]["bytes"] == 4 for e in others)
        assert not any(e.get("name") == "cudaEventRecord" for e in events)
    header, *lines = recorded.telemetry()
    assert manifest["devices"][0]["uuid"] in {device["uuid"] for device in header["header"]["devices"]}
    assert any(line["source"] == "nvml" and line.get("power_w") for line in lines)


def test_a_captured_graph_is_recorded_as_far_as_it_can_be(recorded: Run):
    static = torch.randn(512, 512, device="cuda")
    static @ static
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with Recorder(recorded.out, profile=False, telemetry=False, progress=Silence()) as recorder:
        with torch.cuda.graph(graph):
            product = static @ static
            recorder.step(loss=product.mean())
        for _ in range(20):
            graph.replay()
            recorder.step()
    assert len(recorded.steps()) == 21
    assert recorded.manifest()["exit"]["status"] == "done"
