from __future__ import annotations

import pytest

from analyze.analyses.host_link import host_link
from analyze.trace_info import DeviceProperties, TraceInfo


def of(*names):
    devices = tuple(DeviceProperties(index=place, name=name) for place, name in enumerate(names))
    return host_link(TraceInfo(producer="kineto-cuda", devices=devices)).row(0)


@pytest.mark.parametrize(("name", "rate"), [("NVIDIA A100-SXM4-80GB", 31.5e9), ("NVIDIA H100 80GB HBM3", 63e9)])
def test_the_device_s_name_tells_its_link(name, rate):
    device, found, source = of(name)
    assert device == name
    assert found == pytest.approx(rate, rel=0.02)
    assert source


def test_the_first_device_counts():
    assert of("NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-16GB")[0] == "NVIDIA A100-SXM4-80GB"


@pytest.mark.parametrize("names", [("An Unheard-of Card",), (None,), ()])
def test_unknown_is_null_in_one_row(names):
    assert of(*names)[1:] == (None, None)
