"""Records runs that show a state of the machine or of its storage, which a note names and no fix of the code takes away.

    python -m benchmarks.machine_states NAME --out DIR

power_cap: products that draw what the card may draw. memory_nearly_full: a buffer that leaves a few gigabytes of the device.
slow_storage: records read from a file that no cache holds. container_memory: a training that fills its container; run it in a
control group with a limit of 3 GiB that stands at /sys/fs/cgroup, as in a container. uneven_memory: one rank of two holds more; run
it through torchrun. other_process, other_process_at_times: somebody else's products on the same card, without a
pause or a third of the time; the run without them is recorded beside it, in a folder whose name ends in .alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import torch
from torch import distributed, nn
from torch.nn import functional

from benchmarks.recorded_ranks import step_ms
from collect import Recorder
from collect.machine import memory_limit_bytes

MOST_STEPS = 2000
GIB = 1 << 30
#: left of the device's memory for the training itself
ROOM_BYTES = 5 * GIB
#: of the container's memory
FILLED_SHARE = 0.93
RECORD_BYTES, RECORDS_PER_BATCH, FILE_BYTES = 2 << 20, 32, 2 * GIB


def power_cap(out: Path) -> None:
    left = torch.randn(16384, 16384, device="cuda", dtype=torch.bfloat16)
    net = nn.Linear(16384, 16384, bias=False, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        with torch.no_grad():
            for _ in range(20):
                net(left)

    _record(out, "power_cap", step)


def memory_nearly_full(out: Path) -> None:
    net = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    free, _ = torch.cuda.mem_get_info()
    replayed = torch.zeros((free - ROOM_BYTES) // 4096, 1024, device="cuda")

    def step() -> None:
        # the episodes played so far are kept on the device, and each step draws from them
        x = replayed[torch.randint(0, replayed.shape[0], (8192,), device="cuda")]
        _step(optimizer, functional.mse_loss(net(x), x))

    _record(out, "memory_nearly_full", step)


def container_memory(out: Path) -> None:
    limit = memory_limit_bytes()
    if limit is None:
        raise SystemExit("no limit is set for this container's memory")
    net = nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1024))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)

    def train() -> None:
        x = torch.randn(1024, 1024)
        _step(optimizer, functional.mse_loss(net(x), x))

    train()
    # the data set, held in memory: pages count once they are written
    dataset = [torch.ones(int(FILLED_SHARE * limit - psutil.Process().memory_info().rss), dtype=torch.uint8)]
    _record(out, "container_memory", train)
    dataset.clear()


class _Records(torch.utils.data.Dataset[torch.Tensor]):
    """Records of a large file, in random order; what was read is dropped from the cache, as it would be in a larger file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.order = torch.randperm(FILE_BYTES // RECORD_BYTES).tolist()

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        file = os.open(self.path, os.O_RDONLY)
        try:
            offset = self.order[index % len(self.order)] * RECORD_BYTES
            content = os.pread(file, RECORD_BYTES, offset)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)
        return torch.frombuffer(bytearray(content[:4096]), dtype=torch.uint8).float()


def slow_storage(out: Path) -> None:
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        path = Path(folder) / "records"
        with path.open("wb") as file:
            for _ in range(FILE_BYTES // (64 << 20)):
                file.write(os.urandom(64 << 20))
            file.flush()
            os.fsync(file.fileno())
        loader = torch.utils.data.DataLoader(_Records(path), batch_size=RECORDS_PER_BATCH, num_workers=1)
        with Recorder(out, label="slow_storage", batch_size=RECORDS_PER_BATCH) as recorder:
            for x in recorder.watch(loader):
                _step(optimizer, net(x / 255).square().mean())
                recorder.step()
                if recorder.done:
                    break


def uneven_memory(out: Path) -> None:
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    torch.cuda.set_device(rank % torch.cuda.device_count())
    net = nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1024)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    # results of all ranks, gathered on the first
    gathered = [torch.zeros(int((84 if rank == 0 else 28) * GIB), dtype=torch.uint8, device="cuda")]
    model = nn.parallel.DistributedDataParallel(net)

    def train() -> None:
        x = torch.randn(4096, 1024, device="cuda")
        _step(optimizer, functional.mse_loss(model(x), x))

    _record(out, "uneven_memory", train)
    gathered.clear()
    distributed.destroy_process_group()


#: what the other process does until it is ended: products without a pause, or a third of the time
STEADY = """
import torch
left = torch.randn(4096, 4096, device="cuda")
while True:
    for _ in range(50):
        left @ left
    torch.cuda.synchronize()
"""
AT_TIMES = """
import time, torch
left = torch.randn(4096, 4096, device="cuda")
while True:
    begun = time.perf_counter()
    for _ in range(5):
        left @ left
    torch.cuda.synchronize()
    time.sleep(2 * (time.perf_counter() - begun))
"""


def other_process(out: Path) -> None:
    _beside_another(out, STEADY)


def other_process_at_times(out: Path) -> None:
    _beside_another(out, AT_TIMES)


def _beside_another(out: Path, theirs: str) -> None:
    net = nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(4096, 4096), nn.GELU()))).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x = torch.randn(8192, 4096, device="cuda")

    def train() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = net(x).square().mean()
        _step(optimizer, loss)

    _record(out.with_name(f"{out.name}.alone"), out.name, train)
    # not a child of this process, or it would count as the training's own
    launch = (
        "import sys; from subprocess import DEVNULL, Popen; "
        "print(Popen([sys.executable, '-c', sys.argv[1]], stdout=DEVNULL, stderr=DEVNULL, start_new_session=True).pid)"
    )
    started = subprocess.run([sys.executable, "-c", launch, theirs], capture_output=True, text=True, check=True)
    other = psutil.Process(int(started.stdout))
    try:
        time.sleep(15)
        _record(out, out.name, train)
    finally:
        other.kill()
    alone_ms, beside_ms = (step_ms(folder) for folder in (out.with_name(f"{out.name}.alone"), out))
    print(f"{alone_ms:.2f} ms a step alone, {beside_ms:.2f} beside the other process")


def _step(optimizer: torch.optim.Optimizer, loss: Any) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def _record(out: Path, label: str, step: Any) -> None:
    with Recorder(out, label=label) as recorder:
        for _ in range(MOST_STEPS):
            step()
            recorder.step()
            if recorder.done:
                break


ALL = (power_cap, memory_nearly_full, container_memory, slow_storage, uneven_memory, other_process, other_process_at_times)
STATES = {state.__name__: state for state in ALL}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=STATES)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    STATES[given.name](given.out)


if __name__ == "__main__":
    main()
