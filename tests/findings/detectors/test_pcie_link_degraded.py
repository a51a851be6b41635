"""Pinned copies against the rate of the host link."""

from __future__ import annotations

import pytest

from analyze.analyses.host_link import COLUMNS
from analyze.errors import MissingData
from analyze.findings.detectors.pcie_link_degraded import detect
from tests.builders import copy, frame, table

MIB = 1 << 20
H200 = frame(COLUMNS, {"device": "NVIDIA H200", "bytes_per_s": 63e9, "source": "s"})


def _copies(*rates_gb_per_s: float, size: int = 64 * MIB, **more: object) -> object:
    pinned = {"host_memory": "pinned", "bytes": size} | more
    return table("copies", *(copy(0, round(size / rate), **pinned) for rate in rates_gb_per_s))


def test_a_link_at_a_quarter_of_its_rate() -> None:
    (note,) = detect(_copies(12.0, 13.0, 12.5), H200)
    assert note.message == (
        "The fastest of 3 large copies from pinned memory reaches 13 GB/s; the link of NVIDIA H200 can do 63 GB/s."
    )
    assert note.evidence["bytes_per_s"][0] == pytest.approx(13e9, rel=1e-6)


def test_copies_to_the_host_show_the_link_too() -> None:
    assert len(detect(_copies(12.0, 13.0, 12.5, direction="device-to-host"), H200)) == 1


@pytest.mark.parametrize(
    "rates",
    [
        pytest.param((50.0, 52.0, 55.0), id="healthy"),
        pytest.param((10.0, 11.0, 12.0, 45.0), id="shared_now_and_then"),
        pytest.param((32.0, 33.0, 35.0), id="at_half_it_may_be_the_copy"),
    ],
)
def test_silent(rates: tuple[float, ...]) -> None:
    assert detect(_copies(*rates), H200) == []


@pytest.mark.parametrize(
    "copies",
    [
        pytest.param(_copies(12.0, 12.0), id="two_only"),
        pytest.param(_copies(3.0, 3.0, 3.0, size=MIB), id="small"),
        pytest.param(_copies(3.0, 3.0, 3.0, host_memory="pageable"), id="pageable"),
        pytest.param(_copies(3.0, 3.0, 3.0, direction="peer-to-peer"), id="between_devices"),
    ],
)
def test_copies_that_do_not_show_the_link(copies: object) -> None:
    with pytest.raises(MissingData, match="too few large copies from pinned memory"):
        detect(copies, H200)


def test_an_unknown_device_has_an_unknown_link() -> None:
    with pytest.raises(MissingData, match="host link is not known"):
        detect(_copies(1.0, 1.0, 1.0), frame(COLUMNS, {"device": "NVIDIA X"}))
