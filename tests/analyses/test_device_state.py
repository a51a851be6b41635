"""Sums of GPU telemetry over the steps of a run."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.analyses.device_state import COLUMNS, device_state
from analyze.errors import MissingData
from tests.telemetry import phases, samples

BASELINE = phases(("settling", 0, 2), ("baseline", 2, 8))


def _state(*each: dict[str, float], **more: float) -> dict[str, object]:
    frame = device_state(samples("nvml", *each, device_uuid="GPU-a"), BASELINE)
    assert frame.schema == {column.name: column.dtype for column in COLUMNS}
    return frame.row(0, named=True)


def test_only_samples_within_the_steps_count() -> None:
    # samples at 0 and 1 s are warm-up, 9 s is after the last step; 2..8 s are 7 samples of 400 W
    watts = [{"power_w": 100.0}] * 2 + [{"power_w": 400.0}] * 7 + [{"power_w": 90.0}] * 3
    state = _state(*watts)
    assert (state["samples"], state["power_w"], state["highest_power_w"]) == (7, 400.0, 400.0)


def test_the_highest_clock_is_that_of_the_whole_run() -> None:
    state = _state(*[{"sm_clock_mhz": 1980.0}] * 2, *[{"sm_clock_mhz": 1500.0}] * 7)
    assert (state["sm_clock_mhz"], state["highest_sm_clock_mhz"]) == (1500.0, 1980.0)


def test_shares_are_of_the_samples() -> None:
    hot, cool = {"sm_clock_mhz": 1.0, "throttle_reasons.hardware_thermal": 1.0}, {"sm_clock_mhz": 1.0}
    # 2..8 s: of seven samples, those at 2, 3 and 4 s are hot
    state = _state(cool, cool, hot, hot, hot, cool, cool, cool, cool)
    assert state["thermal_share"] == pytest.approx(3 / 7)
    assert (state["power_cap_share"], state["power_brake_share"], state["set_clock_share"]) == (0.0, 0.0, 0.0)


def test_without_any_reason_sampled_shares_are_unknown() -> None:
    assert _state(*[{"sm_clock_mhz": 1.0}] * 9)["thermal_share"] is None


def test_a_reason_seen_before_the_steps_shows_that_reasons_were_sampled() -> None:
    state = _state({"sm_clock_mhz": 1.0, "throttle_reasons.idle": 1.0}, *[{"sm_clock_mhz": 1.0}] * 8)
    assert state["thermal_share"] == 0.0


@pytest.mark.parametrize(("beside", "share"), [("sync_boost", 1.0), ("hardware_power_brake", 0.0), ("power_cap", 0.0)])
def test_a_slowdown_is_heat_unless_power_explains_it(beside: str, share: float) -> None:
    reasons = {"throttle_reasons.hardware_slowdown": 1.0, f"throttle_reasons.{beside}": 1.0}
    assert _state(*[reasons] * 9)["thermal_share"] == share


def test_what_was_not_sampled_is_unknown_not_zero() -> None:
    state = _state(*[{"power_w": 5.0}] * 9)
    assert [state[name] for name in ("utilisation_percent", "temperature_c", "memory_used_bytes")] == [None, None, None]


def test_each_device_has_a_row() -> None:
    both = pl.concat(
        [samples("nvml", *[{"power_w": watts}] * 9, device_uuid=uuid) for uuid, watts in (("GPU-b", 2.0), ("GPU-a", 1.0))]
    )
    assert device_state(both, BASELINE).select("device_uuid", "power_w").rows() == [("GPU-a", 1.0), ("GPU-b", 2.0)]


def test_too_short_a_baseline_takes_the_profiled_steps_too() -> None:
    log = phases(("settling", 0, 2), ("baseline", 2, 4), ("times", 4, 8))
    frame = device_state(samples("nvml", *[{"power_w": float(at)} for at in range(9)], device_uuid="GPU-a"), log)
    assert frame["power_w"].to_list() == [5.0]  # mean of 2..8


def test_too_few_samples_are_no_measurement() -> None:
    with pytest.raises(MissingData, match="only 3 samples of a GPU fall within the steps"):
        device_state(samples("nvml", *[{"power_w": 1.0}] * 5, device_uuid="GPU-a"), BASELINE)


def test_a_host_without_gpu_has_no_state_of_one() -> None:
    with pytest.raises(MissingData, match="no samples of a GPU"):
        device_state(samples("psutil", *[{"cpu_percent": 1.0}] * 9), BASELINE)
