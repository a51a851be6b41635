from __future__ import annotations

import pytest

from analyze.hardware import DEVICES, find


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA GH200 480GB", "GH200"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4", "L4"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("NVIDIA A10G", "A10G"),
        ("NVIDIA RTX A6000", "RTX A6000"),
        ("AMD Instinct MI300X VF", "MI300X"),
        ("NVIDIA GeForce RTX 2080 Ti", "RTX 2080 Ti"),
    ],
)
def test_a_device_is_found_by_the_name_drivers_give_it(device, found):
    hardware = find(device)
    assert hardware is not None
    assert hardware.name == found


@pytest.mark.parametrize(
    "device", [None, "", "AMD Radeon Graphics", "NVIDIA GeForce GT 710", "NVIDIA PG509-210", "NVIDIA T400", "NVIDIA T400 4GB"]
)
def test_an_unknown_device_has_no_ceilings(device):
    assert find(device) is None


def test_a_precision_that_a_device_lacks_has_no_peak():
    hardware = find("Tesla V100-SXM2-16GB")
    assert hardware is not None
    assert hardware.peak("fp16") == 125e12
    assert hardware.peak("bf16") is None


def test_every_device_names_its_source_and_is_reachable():
    for pattern, hardware in DEVICES:
        assert hardware.source
        assert find(pattern) is hardware, f"an earlier entry hides {pattern}"


def test_lower_precision_is_never_slower():
    for _, hardware in DEVICES:
        rates = [hardware.peak(precision) for precision in ("fp32", "tf32", "fp16", "fp8")]
        known = [rate for rate in rates if rate is not None]
        assert known == sorted(known), hardware.name
