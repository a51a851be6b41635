"""Memory to spare on a device that has time to spare."""

from __future__ import annotations

import pytest

from analyze.analyses.gpu_busy import COLUMNS
from analyze.findings.detectors.memory_mostly_unused import detect
from tests.builders import frame
from tests.states import GB, MANIFEST, device, devices

LITTLE = {"memory_used_bytes": 14 * GB}


def _busy(share: float) -> object:
    return frame(COLUMNS, *({"step": n, "device": 0, "span_ns": 1000, "busy_ns": round(1000 * share)} for n in range(2)))


def test_little_used_and_not_busy() -> None:
    (note,) = detect(devices(device(**LITTLE)), _busy(0.6), MANIFEST)
    assert note.message == (
        "GPU 0 uses 14.0 of 140.0 GB at batch size 64 and is busy for 60% of the step: a larger batch would fit."
    )
    assert note.caveat is not None


def test_the_fullest_of_several_speaks_for_all() -> None:
    rows = [device(**LITTLE), device(device_uuid="GPU-bbbb", memory_used_bytes=28 * GB)]
    (note,) = detect(devices(*rows), _busy(0.6), MANIFEST)
    assert note.message.startswith("GPU 1, the fullest of 2, uses 28.0 of 140.0 GB")


@pytest.mark.parametrize(
    ("rows", "busy"),
    [
        pytest.param([device(**LITTLE)], 0.95, id="device_is_busy"),
        pytest.param([device()], 0.6, id="half_full"),
        pytest.param([device(**LITTLE, utilisation_percent=0.0)], 0.6, id="idle_card"),
        pytest.param([device(**LITTLE), device(memory_used_bytes=130 * GB)], 0.6, id="another_card_is_full"),
        pytest.param([device(memory_used_bytes=None)], 0.6, id="not_sampled"),
    ],
)
def test_silent(rows: list[dict[str, object]], busy: float) -> None:
    assert detect(devices(*rows), _busy(busy), MANIFEST) == []


def test_steps_without_length_say_nothing() -> None:
    empty = frame(COLUMNS, {"step": 0, "device": 0, "span_ns": 0, "busy_ns": 0})
    assert detect(devices(device(**LITTLE)), empty, MANIFEST) == []
