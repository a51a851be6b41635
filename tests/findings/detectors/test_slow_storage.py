"""Loaders that wait for bytes while the loop waits for them."""

from __future__ import annotations

import pytest

from analyze.analyses.step_time import COLUMNS
from analyze.errors import MissingData
from analyze.findings.detectors.slow_storage import detect
from tests.builders import frame
from tests.states import MANIFEST, host, hosts

WAITING = {"process_children_cpu_percent": 80.0, "disk_read_bytes_per_s": 120e6}


def _steps(wait_ns: int | None, *, profiled: bool = False) -> object:
    return frame(COLUMNS, *({"step": n, "step_ns": 1000, "input_wait_ns": wait_ns, "profiled": profiled} for n in range(3)))


def test_workers_that_wait_for_a_disk() -> None:
    (note,) = detect(_steps(600), hosts(host(**WAITING)), MANIFEST)
    assert note.message == (
        "Steps wait for input 60% of their time while 4 loading processes use 20 % of a processor each and 120 MB/s come from disks."
    )


def test_a_loop_that_loads_by_itself_from_the_network() -> None:
    row = host(process_cpu_percent=30.0, process_children_cpu_percent=None, net_received_bytes_per_s=40e6)
    (note,) = detect(_steps(600), hosts(row), MANIFEST | {"workers": 0})
    assert note.message == (
        "Steps wait for input 60% of their time while the training process, which loads them itself, uses 30 % of a processor and "
        "40 MB/s come from the network."
    )


def test_what_ranks_send_each_other_is_not_read_from_storage() -> None:
    row = host(process_cpu_percent=30.0, process_children_cpu_percent=None, net_received_bytes_per_s=40e6)
    assert detect(_steps(600), hosts(row), MANIFEST | {"workers": 0, "world_size": 2}) == []


def test_without_a_manifest_the_children_are_the_workers() -> None:
    (note,) = detect(_steps(600), hosts(host(**WAITING)))
    assert "4 loading processes use 20 %" in note.message


@pytest.mark.parametrize(
    ("wait_ns", "row"),
    [
        pytest.param(50, host(**WAITING), id="hardly_any_wait"),
        pytest.param(600, host(disk_read_bytes_per_s=120e6), id="loaders_are_decoding"),
        pytest.param(600, host(process_children_cpu_percent=80.0), id="nothing_is_read"),
        pytest.param(600, host(**WAITING | {"disk_read_bytes_per_s": None}), id="reads_not_sampled"),
    ],
)
def test_silent(wait_ns: int, row: dict[str, object]) -> None:
    assert detect(_steps(wait_ns), hosts(row), MANIFEST) == []


@pytest.mark.parametrize("steps", [_steps(None), _steps(600, profiled=True)])
def test_a_wait_that_was_not_measured_is_not_none(steps: object) -> None:
    with pytest.raises(MissingData, match="how long the loop waited"):
        detect(steps, hosts(host(**WAITING)), MANIFEST)


def test_loaders_that_were_not_watched_are_not_idle() -> None:
    with pytest.raises(MissingData, match="what the loading processes use"):
        detect(_steps(600), hosts(host(process_children_cpu_percent=None)), MANIFEST)
