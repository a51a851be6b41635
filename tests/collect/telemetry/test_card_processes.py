"""Which processes on a card are the training's own, and what do the others take?"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

from collect.telemetry.card_processes import NAMES, CardProcesses
from collect.telemetry.nvml import NvmlProbe
from tests.collect.telemetry.test_nvml import FakeNvml, NotSupportedError

#: pid: parent; 10 is a shell, 20 a launcher with ranks 21 and 22, 30 somebody else's
TREE = {10: 1, 20: 10, 21: 20, 22: 20, 23: 21, 30: 1}
NOW_NS = 5_000_000_000


class FakePsutil:
    """Processes of TREE."""

    Error = LookupError

    def __init__(self) -> None:
        self.looks = 0

    def Process(self, pid: int) -> Any:  # noqa: N802
        self.looks += 1
        if pid not in TREE:
            raise self.Error
        return SimpleNamespace(pid=pid, parent=lambda: self.Process(TREE[pid]), children=lambda **_: self._below(pid))

    def _below(self, pid: int) -> list[SimpleNamespace]:
        children = [SimpleNamespace(pid=child) for child, parent in TREE.items() if parent == pid]
        return children + [each for child in children for each in self._below(child.pid)]


def read(nvml: FakeNvml, pid: int = 21, environ: dict[str, str] | None = None, psutil: FakePsutil | None = None) -> list[Any]:
    card = CardProcesses(nvml, pid, environ or {}, psutil or FakePsutil(), wall_ns=lambda: NOW_NS)
    return list(card.read("card 0").values())


def test_others_are_those_that_the_training_did_not_start():
    nvml = FakeNvml(running=((21, 100), (23, 7), (30, 50)), shares={21: 60, 30: 35})
    assert read(nvml) == [1, 50, 35.0]


def test_ranks_of_one_launcher_are_one_training():
    nvml = FakeNvml(running=((21, 100), (22, 100)), shares={21: 50, 22: 50})
    assert read(nvml) == [1, 100, 50.0]
    assert read(nvml, environ={"LOCAL_WORLD_SIZE": "2"}) == [0, 0, 0.0]
    assert read(nvml, environ={"WORLD_SIZE": "2"}) == [0, 0, 0.0]
    assert read(nvml, environ={"WORLD_SIZE": "1"}) == [1, 100, 50.0]


def test_numbers_of_another_namespace_say_nothing():
    assert read(FakeNvml(running=((4_000_021, 100), (4_000_030, 50)))) == [None, None, None]
    assert read(FakeNvml(running=())) == [None, None, None]


def test_memory_that_one_of_them_hides_is_unknown():
    assert read(FakeNvml(running=((21, 100), (30, None)), shares={30: 5})) == [1, None, 5.0]


def test_a_card_that_does_not_count_by_process_leaves_the_share_unknown():
    assert read(FakeNvml(running=((21, 100), (30, 50)), broken={"nvmlDeviceGetProcessUtilization"})) == [1, 50, None]


def test_a_driver_that_saw_nothing_run_says_so_by_not_finding_anything():
    class NotFoundError(Exception):
        value = 6

    class Idle(FakeNvml):
        def nvmlDeviceGetProcessUtilization(self, *_: object) -> None:  # noqa: N802
            raise NotFoundError

    assert read(Idle(running=((21, 100), (30, 50)))) == [1, 50, 0.0]


def test_it_asks_about_the_last_second():
    asked: list[int] = []

    class Listening(FakeNvml):
        def nvmlDeviceGetProcessUtilization(self, handle: object, since_us: int) -> list[Any]:  # noqa: N802
            asked.append(since_us)
            return []

    assert read(Listening(running=((21, 100), (30, 50)))) == [1, 50, 0.0]
    assert asked == [4_000_000]


def test_the_tree_is_looked_at_again_only_for_a_process_never_seen():
    nvml, psutil = FakeNvml(running=((21, 100),)), FakePsutil()
    card = CardProcesses(nvml, 21, {}, psutil)
    for _ in range(3):
        card.read("card 0")
    assert psutil.looks == 1
    nvml.running = ((21, 100), (23, 5), (30, 50))
    assert card.read("card 0")["other_processes_count"] == 1
    assert psutil.looks == 2


def test_a_training_that_has_ended_is_still_told_from_others():
    assert read(FakeNvml(running=((99, 100), (30, 50)), shares={30: 5}), pid=99) == [1, 50, 5.0]


def test_handles_of_the_library_cannot_be_hashed():
    # pointers to structures of ctypes are no keys: nothing may be kept by handle
    handle = ctypes.POINTER(type("card", (ctypes.Structure,), {}))()

    class Real(FakeNvml):
        def nvmlDeviceGetComputeRunningProcesses(self, _: object) -> list[Any]:  # noqa: N802
            return [SimpleNamespace(pid=21, usedGpuMemory=1), SimpleNamespace(pid=30, usedGpuMemory=2)]

        def nvmlDeviceGetProcessUtilization(self, *_: object) -> list[Any]:  # noqa: N802
            return [SimpleNamespace(pid=30, smUtil=40)]

    card = CardProcesses(Real(), 21, {}, FakePsutil())
    assert card.read(handle) == dict(zip(NAMES, (1, 2, 40.0), strict=True))


def test_the_probe_asks_where_it_knows_the_training():
    nvml = FakeNvml(count=1, running=((0, 5),))
    probe = NvmlProbe(nvml=nvml, environ={}, pid=0)
    assert probe.open()
    assert [NAMES[0] in sample for _ in range(6) for sample in probe.sample()] == [True, False] * 3
    alone = NvmlProbe(nvml=nvml, environ={})
    assert alone.open()
    assert NAMES[0] not in alone.sample()[0]


def test_a_card_without_the_list_goes_on_without_it():
    probe = NvmlProbe(nvml=FakeNvml(count=1, broken={"nvmlDeviceGetComputeRunningProcesses"}), environ={}, pid=21)
    assert probe.open()
    assert NAMES[0] not in probe.sample()[0]
    assert probe.unsupported["processes (GPU-0)"] == str(NotSupportedError())
