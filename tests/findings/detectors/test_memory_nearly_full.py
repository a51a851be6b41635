"""Device memory that is nearly used up, and really so."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.memory_nearly_full import detect
from tests.states import GB, MANIFEST, device, devices

FULL = {"memory_used_bytes": 137 * GB}


def _manifest(allocated_gb: int | None) -> dict[str, object]:
    return MANIFEST | {"peak_memory_allocated_bytes": None if allocated_gb is None else allocated_gb * GB}


def test_full_of_tensors() -> None:
    (note,) = detect(devices(device(**FULL)), _manifest(128))
    assert note.message == "GPU 0 uses 137.0 of 140.0 GB (98%); tensors alone reached 128.0 GB."
    assert note.confidence == 0.9


def test_full_of_what_is_not_known_is_less_sure() -> None:
    (note,) = detect(devices(device(**FULL)))
    assert note.message == "GPU-aaaa uses 137.0 of 140.0 GB (98%)."
    assert note.confidence == 0.5


def test_the_peak_of_another_device_says_nothing_of_this_one() -> None:
    (note,) = detect(devices(device(**FULL, device_uuid="GPU-bbbb")), _manifest(10))
    assert note.location == "GPU 1"
    assert note.confidence == 0.5


@pytest.mark.parametrize(
    ("row", "allocated_gb"),
    [
        pytest.param(device(), 60, id="half_full"),
        pytest.param(device(memory_used_bytes=130 * GB), 125, id="some_left"),
        pytest.param(device(**FULL), 60, id="full_of_cache"),
        pytest.param(device(memory_used_bytes=None), 130, id="not_sampled"),
    ],
)
def test_silent(row: dict[str, object], allocated_gb: int) -> None:
    assert detect(devices(row), _manifest(allocated_gb)) == []
