"""A power limit, or the server's power supply, that holds the clock down."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.power_cap import detect
from analyze.findings.model import Severity
from tests.states import MANIFEST, device, devices


def test_a_capped_card_is_named_with_what_it_draws() -> None:
    (note,) = detect(devices(device(power_cap_share=0.9, sm_clock_mhz=1485.0, highest_power_w=698.0)), MANIFEST)
    assert note.severity is Severity.LOW
    assert note.message == (
        "The power limit holds GPU 0 down in 90% of the samples at 698 W: its clock is 1,485 MHz where it reached 1,980."
    )


def test_a_limit_that_was_lowered_weighs_more() -> None:
    # an H200 is made for 700 W
    (note,) = detect(devices(device(power_cap_share=0.9, sm_clock_mhz=1485.0, highest_power_w=402.0)), MANIFEST)
    assert note.severity is Severity.MEDIUM
    assert " at 402 W of the 700 W that it is made for: " in note.message


def test_an_unknown_card_has_no_rated_power() -> None:
    row = device(device_uuid="GPU-cccc", power_cap_share=0.9, sm_clock_mhz=1485.0, highest_power_w=402.0)
    (note,) = detect(devices(row), MANIFEST)
    assert note.severity is Severity.LOW
    assert " at 402 W: " in note.message


def test_the_power_brake_is_reported_from_few_samples_on() -> None:
    (note,) = detect(devices(device(power_brake_share=0.1, highest_power_w=None)), MANIFEST)
    assert note.severity is Severity.HIGH
    assert note.message.startswith("The server's power supply holds GPU 0 down in 10% of the samples: ")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(device(power_w=700.0, highest_power_w=700.0), id="drawing_much_uncapped"),
        pytest.param(device(power_cap_share=0.3, sm_clock_mhz=1700.0), id="capped_now_and_then"),
        pytest.param(device(power_cap_share=1.0, sm_clock_mhz=1920.0), id="capped_but_hardly_slower"),
        pytest.param(device(power_cap_share=1.0, sm_clock_mhz=None), id="clock_not_sampled"),
        pytest.param(device(power_cap_share=None, power_brake_share=None, sm_clock_mhz=900.0), id="reasons_not_sampled"),
        pytest.param(device(thermal_share=1.0, sm_clock_mhz=900.0), id="slowed_by_heat"),
    ],
)
def test_silent(row: dict[str, object]) -> None:
    assert detect(devices(row), MANIFEST) == []
