"""Heat that slows a card down within the steps."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.thermal_throttle import detect
from analyze.findings.model import Severity
from tests.states import MANIFEST, device, devices


def test_a_hot_card_is_named_with_its_clock() -> None:
    (note,) = detect(devices(device(thermal_share=0.34, temperature_c=87.0, sm_clock_mhz=1200.0)), MANIFEST)
    assert note.kind == "note"
    assert note.step_saving_ns is None
    assert note.severity is Severity.HIGH
    assert note.message == (
        "Heat slows GPU 0 down in 34% of the samples, at up to 87 °C: its clock is 1,200 MHz where it reached 1,980."
    )


def test_without_clock_and_temperature_the_reason_is_enough() -> None:
    row = device(thermal_share=0.5, temperature_c=None, sm_clock_mhz=None, highest_sm_clock_mhz=None)
    (note,) = detect(devices(row))
    assert note.message == "Heat slows GPU-aaaa down in 50% of the samples."
    assert note.severity is Severity.MEDIUM


def test_each_hot_card_has_its_note() -> None:
    hot = [device(thermal_share=1.0), device(device_uuid="GPU-bbbb", thermal_share=1.0), device(device_uuid="GPU-cccc")]
    assert [note.location for note in detect(devices(*hot), MANIFEST)] == ["GPU 0", "GPU 1"]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(device(temperature_c=88.0), id="hot_but_not_slowed"),
        pytest.param(device(thermal_share=0.04, temperature_c=88.0), id="a_dip_now_and_then"),
        pytest.param(device(thermal_share=None, sm_clock_mhz=1000.0), id="reasons_not_sampled"),
        pytest.param(device(power_cap_share=1.0, sm_clock_mhz=1000.0), id="slowed_by_power"),
    ],
)
def test_silent(row: dict[str, object]) -> None:
    assert detect(devices(row), MANIFEST) == []
