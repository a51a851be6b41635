"""A busy card below its clock for neither heat nor power."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.low_clock import detect
from analyze.findings.model import Severity
from tests.states import MANIFEST, device, devices


def test_a_clock_without_a_reason_is_low() -> None:
    (note,) = detect(devices(device(sm_clock_mhz=1200.0)), MANIFEST)
    assert note.severity is Severity.MEDIUM
    assert note.confidence == 0.5
    assert note.message == (
        "GPU 0 runs at 1,200 MHz where it reached 1,980 while it is 95 % busy; the driver names neither heat nor power."
    )


def test_a_clock_that_was_set_before_the_run_is_named_by_the_driver() -> None:
    (note,) = detect(devices(device(sm_clock_mhz=1095.0, highest_sm_clock_mhz=1095.0, set_clock_share=1.0)), MANIFEST)
    assert note.severity is Severity.LOW
    assert note.message == "GPU 0 runs at 1,095 MHz while it is 95 % busy; the driver says that the clock was set."


def test_a_setting_is_surer_than_a_guess() -> None:
    (note,) = detect(devices(device(sm_clock_mhz=1200.0, set_clock_share=1.0)), MANIFEST)
    assert note.confidence == 0.8


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(device(), id="full_clock"),
        pytest.param(device(sm_clock_mhz=1750.0), id="within_what_load_does"),
        pytest.param(device(sm_clock_mhz=345.0, utilisation_percent=20.0), id="resting_between_steps"),
        pytest.param(device(sm_clock_mhz=1200.0, thermal_share=0.5), id="heat_explains_it"),
        pytest.param(device(sm_clock_mhz=1200.0, power_cap_share=0.5), id="power_explains_it"),
        pytest.param(device(sm_clock_mhz=1200.0, utilisation_percent=None), id="use_not_sampled"),
        pytest.param(device(sm_clock_mhz=None, highest_sm_clock_mhz=None), id="clock_not_sampled"),
    ],
)
def test_silent(row: dict[str, object]) -> None:
    assert detect(devices(row), MANIFEST) == []
